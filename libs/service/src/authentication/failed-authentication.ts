import { createHash } from 'node:crypto';
import { Problem } from '@certwright/errors';
import type { Rate, TokenBuckets } from '../limits/token-buckets';

/** Where wrong credentials are counted. */
export interface Origin {
  readonly bucket: string;
  /** After "Too many wrong credentials came". */
  readonly words: string;
}

export const ofAddress = (addressKey: string): Origin => ({
  bucket: `failed-authentication:${addressKey}`,
  words: 'from this address',
});

export const ofUserName = (userName: string): Origin => ofUser(userName);

/** Apart from what comes for the same user from elsewhere: see `FamiliarAddresses`. */
export const ofUserAt = (userName: string, addressKey: string): Origin =>
  ofUser(`${userName}\0${addressKey}`);

/** As a digest: it may be longer than a key should be, and Redis need not know who signs in. */
const ofUser = (text: string): Origin => ({
  bucket: `failed-authentication:user:${createHash('sha256').update(text).digest('base64url')}`,
  words: 'for this user name',
});

/** Most origins that are remembered as refused; the longest known is forgotten first. */
const mostRefused = 10_000;

/** Counts wrong credentials, and says when there were too many of them. */
export class FailedAuthentication {
  /** Bucket → until when it has nothing to give. */
  readonly #refusedUntilMs = new Map<string, number>();

  /** @param nowMs monotonic, in milliseconds */
  constructor(
    private readonly buckets: TokenBuckets,
    private readonly rate: Rate,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** What a failure is answered: `otherwise`, and over the limit `rate_limited`. */
  async refusal(origin: Origin, otherwise: Problem): Promise<Problem> {
    return (await this.#count(origin)) ?? otherwise;
  }

  /**
   * Nothing of what comes from there is looked at for a while, be it right: an answer would tell one who guesses, as
   * fast as answers come, which of the guesses is the password.
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
   * Counts a guess before it is looked at, so that many at once are not many more than the limit, and takes the count
   * back when it was right or nobody could tell.
   *
   * @throws Problem `rate_limited` in place of looking at it
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
      if (this.#refusedUntilMs.size <= mostRefused) break;
      this.#refusedUntilMs.delete(oldest);
    }
    return rateLimited(origin, taken.retryAfterS);
  }

  /** A bucket never holds more than its burst, whatever is put back. */
  async #takeBack(origins: readonly Origin[]): Promise<void> {
    for (const { bucket } of origins) await this.buckets.take(bucket, { ...this.rate, cost: -1 });
  }
}

function rateLimited({ words }: Origin, retryAfterS: number): Problem {
  const message = `Too many wrong credentials came ${words}; the next try is looked at in ${retryAfterS} s.`;
  return new Problem('rate_limited', message, { retryAfterS });
}
