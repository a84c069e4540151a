import type { RedisKeys } from './redis-connection';
import { RedisScript } from './redis-script';

/**
 * Takes tokens from one bucket, atomically.
 *
 * KEYS[1]  the bucket: a hash of `tokens` (decimal) and `at` (milliseconds since 1970, Redis's clock)
 * ARGV[1]  rate, tokens per second
 * ARGV[2]  burst, the maximum of tokens in a bucket; a missing bucket is full
 * ARGV[3]  cost, tokens to take: all or none
 * returns  0 when they were taken, else the milliseconds until the same take succeeds if there are no other takes
 *
 * Uses the clock of Redis, so that processes with different clocks share a bucket. The key expires when the bucket is
 * full again, since a missing bucket is full.
 */
const takeTokens = new RedisScript(`
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
`);

export interface Take {
  readonly ratePerS: number;
  readonly burst: number;
  readonly cost: number;
}

export type Taken = { readonly ok: true } | { readonly ok: false; readonly retryAfterS: number };

/**
 * Token buckets shared by all processes; implements `TokenBuckets` of `@certwright/service`. `take` rejects when
 * Redis is unavailable or slow; tokens may then have been taken or not.
 */
export class RedisTokenBuckets {
  constructor(private readonly redis: RedisKeys) {}

  async take(key: string, { ratePerS, burst, cost }: Take): Promise<Taken> {
    // The braces are Redis Cluster's hash tag: each bucket is on the node of its key.
    const { client, prefix } = this.redis;
    const bucket = `${prefix}:limits:{${key}}`;
    const waitMs = Number(await takeTokens.run(client, [bucket], [ratePerS, burst, cost]));
    return waitMs === 0 ? { ok: true } : { ok: false, retryAfterS: Math.max(1, Math.ceil(waitMs / 1_000)) };
  }
}
