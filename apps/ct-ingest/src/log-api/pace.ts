import { setTimeout as delay } from 'node:timers/promises';

/** Max gap between requests, ms, however often a log responds that requests are too frequent. */
const maxGapMs = 60_000;

/** Factors by which the gap grows when a log responds that requests are too frequent, and shrinks with each response after that. */
const [slower, faster] = [2, 0.95];

/** Spaces the requests to one log. One process at a time holds a log, so this is its rate over all processes. */
export class Pace {
  private gapMs: number;
  private nextAtMs = 0;

  constructor(private readonly usualGapMs: number) {
    this.gapMs = usualGapMs;
  }

  static perSecond(requests: number): Pace {
    return new Pace(1_000 / requests);
  }

  /** Resolves when the next request may be sent. @throws the reason of the signal */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const now = performance.now();
    const at = Math.max(now, this.nextAtMs);
    this.nextAtMs = at + this.gapMs;
    // Timers have a resolution of 1 ms: smaller gaps accumulate over several requests.
    if (at - now >= 1) await delay(at - now, undefined, { signal }).catch(() => signal.throwIfAborted());
  }

  slowDown(): void {
    this.gapMs = Math.min(maxGapMs, this.gapMs * slower);
  }

  succeeded(): void {
    this.gapMs = Math.max(this.usualGapMs, this.gapMs * faster);
  }
}
