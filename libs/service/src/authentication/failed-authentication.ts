import { createHash } from 'node:crypto';
import { Problem } from '@certwright/errors';
import type { Rate, TokenBuckets } from '../limits/token-buckets';

/** A bucket in which wrong credentials are counted. */
export interface Origin {
  readonly bucket: string;
  /** After "Too many wrong credentials came". */
  readonly source: string;
}

export const ofAddress = (addressKey: string): Origin => ({
  bucket: `failed-authentication:${addressKey}`,
  source: 'from this address',
});

export const ofUserName = (userName: string): Origin => ofUser(userName);

/** Counted separately from attempts for the same user from elsewhere; see `FamiliarAddresses`. */
export const ofUserAt = (userName: string, addressKey: string): Origin =>
  ofUser(`${userName}\0${addressKey}`);

/** A digest bounds the length of the key and keeps user names out of Redis. */
const ofUser = (text: string): Origin => ({
  bucket: `failed-authentication:user:${createHash('sha256').update(text).digest('base64url')}`,
  source: 'for this user name',
});

/** Maximum number of refused origins that are remembered; the oldest is dropped first. */
const maxRefused = 10_000;

/** Counts wrong credentials and refuses further attempts over the limit. */
export class FailedAuthentication {
  /** Bucket → when it has tokens again. */
  readonly #refusedUntilMs = new Map<string, number>();

  /** @param nowMs monotonic, in milliseconds */
  constructor(
    private readonly buckets: TokenBuckets,
    private readonly rate: Rate,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Counts a failure. @returns `otherwise`; over the limit, `rate_limited` */
  async refusal(origin: Origin, otherwise: Problem): Promise<Problem> {
    return (await this.#count(origin)) ?? otherwise;
  }

  /**
   * Refuses every attempt from an origin over its limit, even a correct one: otherwise the response would reveal to
   * an attacker which guess is the password.
   *
   * @throws Problem `rate_limited`
   */
  refuseOverLimit(origins: readonly Origin[]): void {
    for (const origin of origins) {
      const leftMs = (this.#refusedUntilMs.get(origin.bucket) ?? -Infinity) - this.nowMs();
      if (leftMs > 0) throw rateLimited(origin, Math.ceil(leftMs / 1_000));
    }
  }

  /**
   * Counts a guess before it is checked, so that parallel guesses cannot exceed the limit by much. Undoes the count
   * when the guess was right or the check failed.
   *
   * @throws Problem `rate_limited` without running the check
   */
  async guess(origins: readonly Origin[], check: () => Promise<boolean>): Promise<boolean> {
    const counted: Origin[] = [];
    let isWrong = false;
    try {
      for (const origin of origins) {
        const overLimit = await this.#count(origin);
        if (overLimit !== null) throw overLimit;
        counted.push(origin);
      }
      isWrong = !(await check());
      return !isWrong;
    } finally {
      if (!isWrong) await this.#takeBack(counted);
    }
  }

  async #count(origin: Origin): Promise<Problem | null> {
    const taken = await this.buckets.take(origin.bucket, { ...this.rate, cost: 1 });
    if (taken.ok) return null;
    const { bucket } = origin;
    this.#refusedUntilMs.delete(bucket);
    this.#refusedUntilMs.set(bucket, this.nowMs() + taken.retryAfterS * 1_000);
    for (const oldest of this.#refusedUntilMs.keys()) {
      if (this.#refusedUntilMs.size <= maxRefused) break;
      this.#refusedUntilMs.delete(oldest);
    }
    return rateLimited(origin, taken.retryAfterS);
  }

  /** A bucket never holds more than its burst, whatever is put back. */
  async #takeBack(origins: readonly Origin[]): Promise<void> {
    for (const { bucket } of origins) await this.buckets.take(bucket, { ...this.rate, cost: -1 });
  }
}

function rateLimited({ source }: Origin, retryAfterS: number): Problem {
  const message = `Too many wrong credentials came ${source}; try again in ${retryAfterS} s.`;
  return new Problem('rate_limited', message, { retryAfterS });
}
