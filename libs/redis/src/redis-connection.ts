import { randomUUID } from 'node:crypto';
import {
  checkWrites,
  logChanges,
  type Redis,
  type RedisAccess,
  type RedisClient,
  type RedisLog,
} from '@certwright/redis-client';

export interface RedisConnectionOptions {
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  readonly log: RedisLog;
  /** Timeout of a command, in milliseconds. Default: 500. */
  readonly commandTimeoutMs?: number;
}

export interface RedisConnection<C extends RedisClient = RedisClient> {
  readonly client: C;
  /** Of every key and channel. */
  readonly prefix: string;
  /** Rejects when Redis does not respond in time: a readiness check of processes that only read or subscribe. */
  ping(): Promise<void>;
  /** Rejects when Redis does not respond in time, or refuses writes: a readiness check. */
  checkWrites(): Promise<void>;
  /** Never rejects; commands under way may finish. */
  close(): Promise<void>;
}

/**
 * A connection for request handling: a command succeeds in time or rejects; none waits for Redis to come back.
 * Connects in the background and reconnects forever. Unanswered commands are not sent again, so each runs at most
 * once.
 */
export function connectRedis(redis: RedisAccess, options: RedisConnectionOptions): RedisConnection {
  return connection(redis, redis.open({ kind: 'commands', ...options }), options);
}

/** The same for publish/subscribe: `message` events come from this connection alone. */
export function connectSubscriber(
  redis: RedisAccess,
  options: Pick<RedisConnectionOptions, 'name' | 'log'>,
): RedisConnection<Redis> {
  return connection(redis, redis.openSubscriber(options.name), options);
}

function connection<C extends RedisClient>(
  redis: RedisAccess,
  client: C,
  { name, log }: Pick<RedisConnectionOptions, 'name' | 'log'>,
): RedisConnection<C> {
  const stopLogging = logChanges(client, name, log);
  const { prefix } = redis;
  const readinessKey = `${prefix}:ready:${name}:${randomUUID()}`;
  return {
    client,
    prefix,
    ping: async () => {
      await client.ping();
    },
    checkWrites: async () => await checkWrites(client, readinessKey),
    close: async () => {
      stopLogging();
      await close(client);
    },
  };
}

/** A connection and the prefix of the keys that are used on it. */
export type RedisKeys = Pick<RedisConnection, 'client' | 'prefix'>;

async function close(client: RedisClient): Promise<void> {
  try {
    if (client.status === 'ready') await client.quit();
  } catch {
    // The connection was lost meanwhile.
  } finally {
    client.disconnect();
  }
}
