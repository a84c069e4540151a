import { JobQueues } from '@certwright/bullmq';
import { Outbox } from '@certwright/core-schema';
import type { Job, JobName, QueueName } from '@certwright/jobs';
import { OutboxNewsListener } from '@certwright/redis';
import { Round, Rounds, WakeUp } from '@certwright/service';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  maxWaitingIntegrations,
  maxWaitingIssuances,
  maxWaitingMails,
  maxWaitingRevocations,
} from './backlog';

/** Rows that one transaction of the relay takes. */
const batch = 500;

/** Pause after rows, ms: those of many commits share the next transaction of the relay. */
const togetherMs = 50;

/** How long the relay waits for news, ms: rows whose news was lost are found after that. */
const restMs = 1_000;

/** Same priority as the first issuance, mail, revocation or integration of every account in the sweep, and before all others. */
const firstPriority = 1;

/** Jobs whose sweep gives every account its turn, with the queue of each and the maximum that waits there. */
const inTurns = [
  { name: 'advance-issuance', queue: 'issuance', maxWaiting: maxWaitingIssuances },
  { name: 'send-mail', queue: 'mail', maxWaiting: maxWaitingMails },
  { name: 'revoke-certificate', queue: 'revocations', maxWaiting: maxWaitingRevocations },
  { name: 'keep-integration', queue: 'dns-integrations', maxWaiting: maxWaitingIntegrations },
] as const satisfies readonly { name: JobName; queue: QueueName; maxWaiting: number }[];

type WakeUpQueues = Pick<JobQueues, 'addAll' | 'waiting'>;

/** Moves wake-ups from the outbox to Redis, as soon as a process tells that it wrote some. */
@Injectable()
export class Relay implements OnApplicationBootstrap {
  private readonly news = new WakeUp();

  constructor(
    private readonly outbox: Outbox,
    private readonly queues: JobQueues,
    private readonly rounds: Rounds,
    private readonly listener: OutboxNewsListener,
  ) {}

  onApplicationBootstrap(): void {
    this.listener.onNews(() => this.news.wake());
  }

  /** @returns how many were moved */
  async relay(): Promise<number> {
    return await relayOnce(this.outbox, this.queues);
  }

  @Round('relay')
  async round(): Promise<number> {
    const moved = await this.relay();
    if (moved > 0) return moved < batch ? togetherMs : 0;
    await this.news.wait(restMs, this.rounds.stopping);
    return 0;
  }
}

/** @returns how many were moved, `batch` at most */
export async function relayOnce(outbox: Outbox, jobs: WakeUpQueues): Promise<number> {
  return await outbox.relay(batch, async (wakeUps) => await jobs.addAll(await admitted(wakeUps, jobs)));
}

/**
 * A wake-up of an issuance, mail, revocation or integration only speeds up its first run. Behind a backlog it would not, so it is
 * dropped: the row is due, and the sweep gives every account its turn.
 */
async function admitted(wakeUps: readonly Job[], jobs: WakeUpQueues): Promise<readonly Job[]> {
  let admitted = wakeUps;
  for (const { name, queue, maxWaiting } of inTurns) {
    const own = wakeUps.filter((job) => job.name === name);
    if (own.length === 0) continue;
    const room = Math.max(0, maxWaiting - (await jobs.waiting(queue)));
    admitted = [
      ...admitted.filter((job) => job.name !== name),
      ...own.slice(0, room).map((job) => ({ ...job, priority: firstPriority })),
    ];
  }
  return admitted;
}
