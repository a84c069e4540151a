/** Batches that are packed and committed side by side: the sequencer of the database lets one of them in at a time. */
const maxFlushes = 3;

/**
 * Lets a few batches at a time be packed and committed, in the order in which they come. Each takes several times its own memory
 * meanwhile, and the database bounds how long.
 */
export class Flushes {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  /** Resolves when the batch may be flushed; `ended` must follow. @throws the reason of the signal */
  async begin(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.running < maxFlushes) return void (this.running += 1);
    await new Promise<void>((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', abandon);
        resolve();
      };
      const abandon = () => {
        this.waiting.splice(this.waiting.indexOf(go), 1);
        reject(signal.reason);
      };
      signal.addEventListener('abort', abandon, { once: true });
      this.waiting.push(go);
    });
  }

  ended(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.running -= 1;
    else next();
  }
}
