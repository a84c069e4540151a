import type { JobQueues } from '@certwright/bullmq';
import { inTurn } from '@certwright/issuance';
import { advanceIssuance, causeOfRow, wakeUpRevision } from '@certwright/jobs';
import type { LeasedIssuances } from '@certwright/ordering';
import { maxWaitingIssuances } from './backlog';

/** Interval of everything that waits, and the recovery of lost wake-ups: a second, where 15 are promised. */
const restMs = 1_000;

/** Max interval while a batch for Redis does not hold all that is due: the next batch has the accounts that this one lacks. */
const backlogRestMs = 500;

/**
 * Interval at which the length of the queue is checked during a backlog. It also limits the rate, to 2,560 jobs a second: a job that
 * fails early leaves its issuance due.
 */
const checkMs = 100;

/** The queue is refilled below this length: 0.2 s of work of one process. */
const fewJobs = maxWaitingIssuances / 2;

/**
 * Enqueues what is due and not leased; an id that is still queued is dropped by Redis. The first of every account
 * runs before the second of any: with a backlog of any length, another account's order waits only for jobs in
 * progress.
 */
export class Sweep {
  #nextMs = -Infinity;

  constructor(
    private readonly issuances: Pick<LeasedIssuances, 'due'>,
    private readonly jobs: Pick<JobQueues, 'addAll' | 'waiting'>,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** @returns ms to the next round */
  async round(): Promise<number> {
    if (this.nowMs() < this.#nextMs && (await this.jobs.waiting('issuance')) >= fewJobs) return checkMs;
    const due = await this.issuances.due(maxWaitingIssuances);
    await this.jobs.addAll(
      inTurn(due).map(({ item, turn }) => ({
        ...advanceIssuance(item.id, wakeUpRevision(item)),
        priority: turn,
        ...causeOfRow(item),
      })),
    );
    const isAll = due.length < maxWaitingIssuances;
    this.#nextMs = isAll ? -Infinity : this.nowMs() + backlogRestMs;
    return isAll ? restMs : checkMs;
  }
}
