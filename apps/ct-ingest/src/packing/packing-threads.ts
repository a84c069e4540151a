import { setImmediate } from 'node:timers/promises';
import { type NewIssuance, packBody } from '@certwright/ct-index';
import type { BodyPacker } from './body-packer';
import { type Job, PackingThread } from './packing-thread';

/** Bytes that are packed in one job: takes some milliseconds, compared with which the transfer to a thread and back is negligible. */
const jobBytes = 65_536;

/** Threads that had nothing to do for this long are ended: each has 10 MB. */
const idleMs = 10_000;

/**
 * Packs in threads, since packing takes several times as long as all other work on an entry. Queued data is held by its batch only, and
 * copied when a thread takes it. If threads end unexpectedly, this process packs by itself, as it does without threads.
 */
export class PackingThreads implements BodyPacker {
  private readonly waiting: Job[] = [];
  private readonly threads = new Set<PackingThread>();
  private idle: NodeJS.Timeout | undefined;
  private packsHere = false;

  /**
   * @param maxThreads fewer after each that could not be started, or ended
   * @param onFault called when that happens
   */
  constructor(
    private maxThreads: number,
    private readonly onFault: (error: unknown) => void,
  ) {}

  async pack(issuances: readonly NewIssuance[]): Promise<readonly NewIssuance[]> {
    const bodies = (await Promise.all(jobsOf(issuances).map(async (ders) => await this.packed(ders)))).flat();
    return issuances.map((issuance, nth) => {
      const body = bodies[nth];
      return body === undefined || body.length === 0 ? issuance : { ...issuance, body };
    });
  }

  async close(): Promise<void> {
    this.maxThreads = 0;
    await this.endThreads();
  }

  private async packed(ders: readonly Buffer[]): Promise<readonly Buffer[]> {
    return await new Promise((done) => {
      this.waiting.push({ ders, done });
      this.serve();
    });
  }

  private startThread(): PackingThread | undefined {
    try {
      const thread: PackingThread = new PackingThread({
        ready: () => this.serve(),
        ended: (error, unfinished) => {
          // Otherwise it was closed.
          if (this.threads.delete(thread)) this.lose(error);
          this.waiting.unshift(...unfinished);
          this.serve();
        },
      });
      this.threads.add(thread);
      return thread;
    } catch (error) {
      this.lose(error);
      return undefined;
    }
  }

  private lose(error: unknown): void {
    this.maxThreads -= 1;
    this.onFault(error);
  }

  private serve(): void {
    clearTimeout(this.idle);
    for (const thread of this.threads) this.feed(thread);
    while (this.waiting.length > 0 && this.threads.size < this.maxThreads) {
      const thread = this.startThread();
      if (thread !== undefined) this.feed(thread);
    }
    if (this.threads.size === 0 && !this.packsHere) void this.packHere();
    else if (![...this.threads].some(({ isBusy }) => isBusy))
      this.idle = setTimeout(() => void this.endThreads(), idleMs).unref();
  }

  private feed(thread: PackingThread): void {
    for (let job; thread.hasRoom && (job = this.waiting.shift()) !== undefined;) thread.take(job);
  }

  private async endThreads(): Promise<void> {
    const threads = [...this.threads];
    this.threads.clear();
    await Promise.all(threads.map(async (thread) => await thread.end()));
  }

  private async packHere(): Promise<void> {
    this.packsHere = true;
    for (let job; (job = this.waiting.shift()) !== undefined; await setImmediate())
      job.done(job.ders.map((der) => packBody(der, 'deflate')));
    this.packsHere = false;
  }
}

/** Groups certificates into jobs by their size in bytes. */
function jobsOf(issuances: readonly NewIssuance[]): Buffer[][] {
  const jobs: Buffer[][] = [];
  let room = 0;
  for (const { body } of issuances) {
    const der = body.subarray(1);
    if (room <= 0) {
      jobs.push([]);
      room = jobBytes;
    }
    jobs.at(-1)?.push(der);
    room -= der.length;
  }
  return jobs;
}
