/** Waits that end early: when the agent stops, or when something else happened. */
export class Wakeup {
  private pending = false;
  private resolve: () => void = () => undefined;

  wake(): void {
    this.pending = true;
    this.resolve();
  }

  /** Resolves after `ms`, at once when woken since the last time, or when the agent stops. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.pending && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(ms, 2 ** 31 - 1));
        const end = () => resolve();
        signal.addEventListener('abort', end, { once: true });
        this.resolve = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', end);
          resolve();
        };
      });
      this.resolve();
    }
    this.pending = false;
    this.resolve = () => undefined;
  }
}

/** Resolves after `ms` or when the agent stops. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Wakeup().wait(ms, signal);
}
