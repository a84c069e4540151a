import type { Job, JobName, QueueName } from '@certwright/jobs';
import { queueOf } from '@certwright/jobs';
import type { Chance } from '../chance';
import { FrozenWorkers } from '../faults/frozen-workers';
import { type ConnectionBreak, withConnectionBreak } from '../faults/broken-connections';

export type JobHandlers = Readonly<Partial<Record<JobName, (payload: never) => Promise<void>>>>;

export interface RunnerFaults {
  readonly chance: Chance;
  /** Probability that a job is lost before it reaches a worker. */
  lost(): number;
  /** Probability that a job runs twice, concurrently. */
  doubled(): number;
  /** The database fault of one run, or null. */
  connectionBreak(what: string): ConnectionBreak | null;
  nowMs(): number;
}

/** Concurrent jobs. */
const concurrency = 8;

/** The queues without Redis: a job may be lost or run twice, and a second one of the same id is dropped while the first waits. */
export class JobRunner {
  readonly frozen = new FrozenWorkers();
  readonly counts = { run: 0, lost: 0, doubled: 0, broken: 0, failed: 0 };
  private readonly waitingJobs = new Map<string, Job>();
  /** Of this step: a row that a job did not change is processed again in the next one. */
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

  /** Failed jobs may run again in the next step; the sweep finds lost jobs in the same step. */
  nextInstant(): void {
    this.seen = new Set();
    this.lostNow = new Set();
  }

  /** Runs waiting jobs. @returns their number */
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
    if (handler === undefined) throw new Error(`there is no handler for the job ${job.name}`);
    const connectionBreak = this.faults.connectionBreak(`${job.id} ${copy} ${this.faults.nowMs()}`);
    const broken = await withConnectionBreak(connectionBreak, async () => {
      try {
        await handler(job.payload);
      } catch {
        // As in the queue: the sweep enqueues it again.
        this.counts.failed += 1;
      }
    });
    if (broken) this.counts.broken += 1;
  }
}
