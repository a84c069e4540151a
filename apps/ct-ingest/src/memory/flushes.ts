/** Max batches that are packed and committed in parallel: the sequencer of the database admits one at a time. */
const maxFlushes = 3;

/**
 * Limits the number of batches that are packed and committed at a time, or of revocation lists that are applied, first come, first
 * served. Each batch takes several times its own memory meanwhile; the timeouts of the database limit how long.
 */
export class Flushes {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  /** @param max at a time */
  constructor(private readonly max = maxFlushes) {}

  /** Resolves when the batch may be flushed; `ended` must be called after. @throws the reason of the signal */
  async begin(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.running < this.max) return void (this.running += 1);
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
