import { setTimeout as after } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';

/** Starts the alerts of findings at once that this process recorded; those of other processes are found by polling. */
@Injectable()
export class AlertWakeUp {
  private isAwake = false;
  private waiting: AbortController | null = null;

  /** Called after the commit. */
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
