import { setTimeout as delay } from 'node:timers/promises';

/** However often a log says that it is asked too often, it is asked this often, ms. */
const longestGapMs = 60_000;

/** How much the gap grows when a log says that it is asked too often, and shrinks with each answer after that. */
const [slower, faster] = [2, 0.95];

/** Spaces the requests to one log. A log is in one process's hands, so this is its rate over all of them. */
export class Pace {
  private gapMs: number;
  private nextAtMs = 0;

  constructor(
    private readonly usualGapMs: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.gapMs = usualGapMs;
  }

  static perSecond(requests: number): Pace {
    return new Pace(1_000 / requests);
  }

  /** Resolves when the next request may be made. @throws the reason of the signal */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const now = this.nowMs();
    const at = Math.max(now, this.nextAtMs);
    this.nextAtMs = at + this.gapMs;
    // Timers keep milliseconds: a gap below that is kept over several requests.
    if (at - now >= 1) await delay(at - now, undefined, { signal }).catch(() => signal.throwIfAborted());
  }

  slowDown(): void {
    this.gapMs = Math.min(longestGapMs, this.gapMs * slower);
  }

  answered(): void {
    this.gapMs = Math.max(this.usualGapMs, this.gapMs * faster);
  }
}
