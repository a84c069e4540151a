import { LogUnavailable } from './log-faults';

/** Window in which the rate of a response is measured, ms. */
export const rateWindowMs = 10_000;

/** Aborts a response that does not begin in time, or is slower than a minimum rate. */
export class ResponseRate {
  private readonly controller = new AbortController();
  private readonly beginning: NodeJS.Timeout;
  private window: NodeJS.Timeout | undefined;
  private bytes = 0;
  private sinceMs = 0;

  /**
   * @param minRate bytes per second, in each window
   * @param beginWithinMs until the first byte
   */
  constructor(
    private readonly minRate: number,
    beginWithinMs: number,
  ) {
    const late = `There was no response within ${beginWithinMs} ms.`;
    this.beginning = setTimeout(() => this.controller.abort(new LogUnavailable(late)), beginWithinMs);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  received(bytes: number): void {
    this.bytes += bytes;
    if (this.window !== undefined) return;
    clearTimeout(this.beginning);
    this.sinceMs = performance.now();
    this.window = setInterval(() => this.measure(), rateWindowMs);
  }

  /** Must be called to stop the timers. */
  end(): void {
    clearTimeout(this.beginning);
    clearInterval(this.window);
  }

  private measure(): void {
    const now = performance.now();
    const rate = (this.bytes / (now - this.sinceMs)) * 1_000;
    [this.bytes, this.sinceMs] = [0, now];
    if (rate >= this.minRate) return;
    const rates = `${Math.round(rate)} bytes a second, less than ${this.minRate}`;
    this.controller.abort(new LogUnavailable(`The response was cut off: it came at ${rates}.`));
  }
}
