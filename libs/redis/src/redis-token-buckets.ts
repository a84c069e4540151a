import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

/**
 * Takes tokens from one bucket, atomically.
 *
 * KEYS[1]  the bucket: a hash of `tokens` (decimal) and `at` (milliseconds since 1970, Redis's clock)
 * ARGV[1]  rate, tokens per second
 * ARGV[2]  burst, the most tokens a bucket holds; a bucket that does not exist is full
 * ARGV[3]  cost, tokens to take: all or none
 * returns  0 when they were taken, else the milliseconds until the same take succeeds if nobody else takes
 *
 * The clock is Redis's own, so that copies of a process with different clocks share a bucket. The key expires when the
 * bucket would be full again, as a full bucket and none are the same.
 */
const source = `
local rate, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(bucket[1]) or burst
local at = tonumber(bucket[2]) or now
tokens = math.min(burst, tokens + math.max(0, now - at) / 1000 * rate)
local wait = 0
if tokens >= cost then
  tokens = tokens - cost
else
  wait = math.max(1, math.ceil((cost - tokens) / rate * 1000))
end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', tokens), 'at', string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil((burst - tokens) / rate * 1000) + 1000)
return wait
`;

const takeTokens = { source, sha1: createHash('sha1').update(source).digest('hex') } as const;

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
