import { setTimeout as delay } from 'node:timers/promises';
import { AcmeFault } from '../acme-fault';

export interface RepeatOptions {
  /** Max retries of one exchange. */
  readonly max: number;
  /** Pause before the first retry, ms; doubled for each further one. */
  readonly firstPauseMs: number;
  /** With a Retry-After above this there is no retry within the operation, ms. */
  readonly maxPauseMs: number;
}

export const defaultRepeats: RepeatOptions = { max: 3, firstPauseMs: 500, maxPauseMs: 5_000 };
export const noRepeats: RepeatOptions = { max: 0, firstPauseMs: 0, maxPauseMs: 0 };

const overloaded = 503;

/**
 * Whether a server or network error is transient: the same request may succeed a moment later. False for quotas (RFC
 * 8555, section 6.6) and for responses that a retry does not change.
 */
export function isPassing({ kind, status, problem, lasting }: AcmeFault): boolean {
  switch (kind) {
    case 'unreachable':
    case 'timeout':
      return true;
    case 'rate_limited':
      return status === overloaded && problem?.type !== 'rateLimited';
    case 'not_acme':
      return !lasting && (status === null || status >= 500);
    case 'problem':
      return problem?.type === 'serverInternal' || problem?.type === 'badNonce' || (status ?? 0) >= 500;
    case 'refused_url':
      return false;
  }
}

/** Counts and paces the retries of one exchange. Pauses are random, to spread the retries of many requests. */
export class Repeats {
  #count = 0;

  constructor(
    private readonly options: RepeatOptions,
    private readonly now: () => Date,
  ) {}

  /** Retries so far. */
  get count(): number {
    return this.#count;
  }

  /**
   * Waits before the next attempt.
   *
   * @returns false without another attempt: the error is permanent, or no attempts are left
   */
  async next(fault: unknown): Promise<boolean> {
    const { max, firstPauseMs, maxPauseMs } = this.options;
    if (!(fault instanceof AcmeFault) || !isPassing(fault) || this.#count >= max) return false;
    const requestedMs = fault.retryAt === null ? 0 : fault.retryAt.getTime() - this.now().getTime();
    if (requestedMs > maxPauseMs) return false;
    const pauseMs = Math.min(firstPauseMs * 2 ** this.#count, maxPauseMs) * (0.5 + Math.random() / 2);
    this.#count += 1;
    await delay(Math.max(pauseMs, requestedMs));
    return true;
  }
}
