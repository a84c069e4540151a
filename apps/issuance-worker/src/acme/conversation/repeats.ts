import { setTimeout as delay } from 'node:timers/promises';
import { AcmeFault } from '../acme-fault';

export interface RepeatOptions {
  /** Of one exchange, besides the first try. */
  readonly most: number;
  /** Before the first repeat, ms; doubled for each further one. */
  readonly firstPauseMs: number;
  /** A server that asks for more patience than this is not asked again within the operation, ms. */
  readonly mostPauseMs: number;
}

export const defaultRepeats: RepeatOptions = { most: 3, firstPauseMs: 500, mostPauseMs: 5_000 };
export const noRepeats: RepeatOptions = { most: 0, firstPauseMs: 0, mostPauseMs: 0 };

const overloaded = 503;

/**
 * Whether the server, or the way to it, was in trouble: the same request may succeed a moment later. Quotas are none of it
 * (RFC 8555, section 6.6), nor is an answer that stays the same however often it is asked for.
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

/** Counts and paces the repeats of one exchange: a random pause, so that many do not come back together. */
export class Repeats {
  #count = 0;

  constructor(
    private readonly options: RepeatOptions,
    private readonly now: () => Date,
  ) {}

  /** How many were made so far. */
  get count(): number {
    return this.#count;
  }

  /**
   * Waits before the next try.
   *
   * @returns false when there is to be none: the fault does not pass, or the tries are used up
   */
  async next(fault: unknown): Promise<boolean> {
    const { most, firstPauseMs, mostPauseMs } = this.options;
    if (!(fault instanceof AcmeFault) || !isPassing(fault) || this.#count >= most) return false;
    const askedMs = fault.retryAt === null ? 0 : fault.retryAt.getTime() - this.now().getTime();
    if (askedMs > mostPauseMs) return false;
    const pauseMs = Math.min(firstPauseMs * 2 ** this.#count, mostPauseMs) * (0.5 + Math.random() / 2);
    this.#count += 1;
    await delay(Math.max(pauseMs, askedMs));
    return true;
  }
}
