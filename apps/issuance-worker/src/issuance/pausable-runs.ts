import type { BeforeApplicationShutdown, OnModuleDestroy } from '@nestjs/common';

/**
 * Waits within a run, without its slot.
 *
 * @returns false at once, or before the time: the run is to end instead
 */
export type Pause = (forMs: number) => Promise<boolean>;

/** Max paused runs for each slot: waits of seconds between steps of milliseconds. */
const maxPausedPerSlot = 64;

/** How long runs may take to finish when the process stops, ms; their leases end by themselves. */
const closingMs = 4_000;

/**
 * Runs at most a given number concurrently; paused ones do not count. They continue before new ones begin: their
 * leases are running.
 */
export class PausableRuns implements OnModuleDestroy, BeforeApplicationShutdown {
  private free: number;
  private readonly returning: (() => void)[] = [];
  private readonly beginning: (() => void)[] = [];
  /** Each ends one pause. */
  private readonly paused = new Set<() => void>();
  private readonly runs = new Set<Promise<void>>();
  private isStopping = false;

  /** @param onError called with the error of a run that has paused; those of other runs reach the caller */
  constructor(
    private readonly slots: number,
    private readonly onError: (error: unknown) => void,
  ) {
    this.free = slots;
  }

  /** Starts a run when there is a slot. Resolves when it has ended, or when it first pauses. */
  async start(run: (pause: Pause) => Promise<void>): Promise<void> {
    await this.slot(this.beginning);
    const first = Promise.withResolvers<'paused'>();
    const ended = run(async (forMs) => await this.pause(forMs, () => first.resolve('paused')));
    const settled: Promise<void> = ended.then(
      () => this.leave(settled),
      () => this.leave(settled),
    );
    this.runs.add(settled);
    if ((await Promise.race([ended, first.promise])) === 'paused') ended.catch(this.onError);
  }

  /** Ends all pauses. */
  onModuleDestroy(): void {
    this.isStopping = true;
    for (const end of [...this.paused]) end();
  }

  /** Waits for the runs. */
  async beforeApplicationShutdown(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, closingMs)));
    await Promise.race([Promise.all(this.runs), late]);
    clearTimeout(timer);
  }

  private async pause(forMs: number, begins: () => void): Promise<boolean> {
    if (this.isStopping || this.paused.size >= maxPausedPerSlot * this.slots) return false;
    begins();
    this.release();
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.paused.delete(end);
        resolve();
      };
      const timer = setTimeout(end, forMs);
      this.paused.add(end);
    });
    await this.slot(this.returning);
    return !this.isStopping;
  }

  private async slot(queue: (() => void)[]): Promise<void> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => queue.push(resolve));
  }

  /** The slot passes to the next run, so that no later one can overtake it. */
  private release(): void {
    const next = this.returning.shift() ?? this.beginning.shift();
    if (next === undefined) this.free += 1;
    else next();
  }

  private leave(run: Promise<void>): void {
    this.runs.delete(run);
    this.release();
  }
}
