import { createHash } from 'node:crypto';
import type { RedisClient } from '@certwright/redis-client';

/** A Lua script, sent in full only when Redis does not have it. */
export class RedisScript {
  private readonly sha1: string;

  constructor(private readonly source: string) {
    this.sha1 = createHash('sha1').update(source).digest('hex');
  }

  async run(
    redis: RedisClient,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    try {
      return await redis.evalsha(this.sha1, keys.length, ...keys, ...args);
    } catch (error) {
      // After a restart, or on a new node of a cluster, Redis does not have the script.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return await redis.eval(this.source, keys.length, ...keys, ...args);
    }
  }
}
