import type { Job, JobName, QueueName } from '@certwright/jobs';
import { queueOf } from '@certwright/jobs';
import type { Chance } from '../chance';
import { FrozenWorkers } from '../faults/frozen-workers';
import { type Strike, withStrike } from '../faults/struck-database';

export type JobHandlers = Readonly<Partial<Record<JobName, (payload: never) => Promise<void>>>>;

export interface RunnerFaults {
  readonly chance: Chance;
  /** That a job is lost on its way to a worker. */
  lost(): number;
  /** That a job runs twice, side by side. */
  doubled(): number;
  /** How the database fares in one run; null: well. */
  strike(what: string): Strike | null;
  nowMs(): number;
}

/** Jobs that run side by side. */
const concurrency = 8;

/** The queues without Redis: a job may be lost or run twice, and a second one of the same id is dropped while the first waits. */
export class JobRunner {
  readonly frozen = new FrozenWorkers();
  readonly counts = { run: 0, lost: 0, doubled: 0, struck: 0, failed: 0 };
  private readonly waitingJobs = new Map<string, Job>();
  /** Of this instant: a row that a job left as it was is looked at again at the next one. */
  private seen = new Set<string>();
  private lostNow = new Set<string>();

  constructor(
    private readonly handlers: JobHandlers,
    private readonly faults: RunnerFaults,
  ) {}

  async addAll(jobs: readonly Job[]): Promise<void> {
    const { chance, lost, nowMs } = this.faults;
    for (const job of jobs) {
      if (this.seen.has(job.id)) continue;
      if (!this.lostNow.has(job.id) && chance.happens(lost(), 'lost', job.id, nowMs())) {
        this.counts.lost += 1;
        this.lostNow.add(job.id);
        continue;
      }
      this.seen.add(job.id);
      this.waitingJobs.set(job.id, job);
    }
    await Promise.resolve();
  }

  async waiting(queue: QueueName): Promise<number> {
    const jobs = [...this.waitingJobs.values()].filter(({ name }) => queueOf[name] === queue);
    return await Promise.resolve(jobs.length);
  }

  /** What failed at one instant may run again at the next; what was lost is found by the sweep of the same one. */
  nextInstant(): void {
    this.seen = new Set();
    this.lostNow = new Set();
  }

  /** Runs what waits. @returns how many jobs ran */
  async runAll(): Promise<number> {
    const jobs = [...this.waitingJobs.values()].sort(
      (one, other) => (one.priority ?? 0) - (other.priority ?? 0),
    );
    this.waitingJobs.clear();
    const { length } = jobs;
    const work = async () => {
      for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await this.run(job);
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    return length;
  }

  private async run(job: Job): Promise<void> {
    const { chance, doubled, nowMs } = this.faults;
    const isDoubled = chance.happens(doubled(), 'doubled', job.id, nowMs());
    if (isDoubled) this.counts.doubled += 1;
    await Promise.all(
      Array.from({ length: isDoubled ? 2 : 1 }, (_, copy) => this.frozen.run(() => this.once(job, copy))),
    );
  }

  private async once(job: Job, copy: number): Promise<void> {
    this.counts.run += 1;
    const handler = this.handlers[job.name] as ((payload: Job['payload']) => Promise<void>) | undefined;
    if (handler === undefined) throw new Error(`nobody does the job ${job.name}`);
    const strike = this.faults.strike(`${job.id} ${copy} ${this.faults.nowMs()}`);
    const struck = await withStrike(strike, async () => {
      try {
        await handler(job.payload);
      } catch {
        // As the queue does: the row brings it back.
        this.counts.failed += 1;
      }
    });
    if (struck) this.counts.struck += 1;
  }
}
