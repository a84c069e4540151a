import { AsyncLocalStorage } from 'node:async_hooks';

interface Held {
  readonly untilMs: number;
  readonly go: () => void;
  readonly run: Promise<void>;
}

interface Run {
  freeze(untilMs: number): Promise<void>;
}

const runs = new AsyncLocalStorage<Run>();

/** Workers that freeze during a job and continue after others have taken it over. */
export class FrozenWorkers {
  private held: Held[] = [];
  count = 0;

  /** Resolves when the work ends or freezes; frozen work continues at `wake`. */
  async run(work: () => Promise<void>): Promise<void> {
    let frozen: (held: { untilMs: number; go: () => void }) => void = () => undefined;
    const freezing = new Promise<{ untilMs: number; go: () => void }>((resolve) => (frozen = resolve));
    const freeze = (untilMs: number) => new Promise<void>((go) => frozen({ untilMs, go }));
    const run = runs.run({ freeze }, work);
    const first = await Promise.race([run.then(() => null), freezing]);
    if (first === null) return;
    this.count += 1;
    this.held.push({ ...first, run });
  }

  /** Continues workers whose freeze is over, one after the other. */
  async wake(nowMs: number): Promise<void> {
    const due = this.held.filter(({ untilMs }) => untilMs <= nowMs);
    this.held = this.held.filter(({ untilMs }) => untilMs > nowMs);
    for (const { go, run } of due) {
      go();
      await run;
    }
  }
}

/** Freezes the calling job until that time. Does nothing outside a job. */
export async function freezeUntil(untilMs: number): Promise<void> {
  await runs.getStore()?.freeze(untilMs);
}
