import { setTimeout as after } from 'node:timers/promises';

/** Ends the rest of a round early, when there is news of something to do. */
export class WakeUp {
  private isAwake = false;
  private waiting: AbortController | null = null;

  /** Call after the commit of what is to be done. */
  wake(): void {
    this.isAwake = true;
    this.waiting?.abort();
  }

  /** Returns after `ms`, when `signal` aborts, or after `wake`, also if that was called before. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.isAwake) {
      this.waiting = new AbortController();
      // Aborted: it is time.
      await after(ms, undefined, { signal: AbortSignal.any([signal, this.waiting.signal]) }).catch(
        () => undefined,
      );
      this.waiting = null;
    }
    this.isAwake = false;
  }
}
