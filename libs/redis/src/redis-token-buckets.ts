import type { Redis } from 'ioredis';
import { takeTokens } from './take-tokens';

export interface Take {
  readonly ratePerS: number;
  readonly burst: number;
  readonly cost: number;
}

export type Taken = { readonly ok: true } | { readonly ok: false; readonly retryAfterS: number };

/**
 * Token buckets that every copy of every process shares. Fits the port of the same name in `@certwright/service`.
 * `take` rejects when Redis is away or slow; a bucket may then have been taken from or not.
 */
export class RedisTokenBuckets {
  /** @param prefix keeps the buckets of one deployment apart from whatever else lives in the same Redis */
  constructor(
    private readonly redis: Redis,
    private readonly prefix = 'limits',
  ) {}

  async take(key: string, { ratePerS, burst, cost }: Take): Promise<Taken> {
    // The braces are Redis Cluster's hash tag: each bucket lies on the node of its own key.
    const waitMs = Number(await this.#run(`${this.prefix}:{${key}}`, [ratePerS, burst, cost]));
    return waitMs === 0 ? { ok: true } : { ok: false, retryAfterS: Math.max(1, Math.ceil(waitMs / 1_000)) };
  }

  async #run(bucket: string, args: readonly number[]): Promise<unknown> {
    try {
      return await this.redis.evalsha(takeTokens.sha1, 1, bucket, ...args);
    } catch (error) {
      // Redis forgets scripts when it restarts, and a new node of a cluster has never heard of them.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return this.redis.eval(takeTokens.source, 1, bucket, ...args);
    }
  }
}
