import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

/** The part of a logger that is used here. */
export interface RedisLog {
  warn(members: object, message: string): void;
  info(members: object, message: string): void;
}

export interface RedisConnectionOptions {
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  readonly log: RedisLog;
  /** Timeout of a command, in milliseconds. Default: 500. */
  readonly commandTimeoutMs?: number;
  /** Timeout of connecting, in milliseconds. Default: 5,000. */
  readonly connectTimeoutMs?: number;
}

export interface RedisConnection {
  readonly client: Redis;
  /** Rejects when Redis does not respond in time: a readiness check of processes that only read or subscribe. */
  ping(): Promise<void>;
  /** Rejects when Redis does not respond in time, or refuses writes (OOM, READONLY, MISCONF): a readiness check. */
  checkWrites(): Promise<void>;
  /** Never rejects; commands under way may finish. */
  close(): Promise<void>;
}

/** Lifetime of the key of a readiness check, ms. */
const readinessKeyMs = 10_000;

/** First and maximum delay of reconnecting, in milliseconds. */
const reconnect = { firstMs: 50, maxMs: 2_000 };

/**
 * A connection for request handling: a command succeeds in time or rejects; none waits for Redis to come back.
 * Connects in the background and reconnects forever. Unanswered commands are not sent again, so each runs at most
 * once.
 *
 * @param url `redis://` or `rediss://`, with credentials and database number as needed
 */
export function connectRedis(url: string, options: RedisConnectionOptions): RedisConnection {
  const { name, log, commandTimeoutMs = 500, connectTimeoutMs = 5_000 } = options;
  const client = new Redis(url, {
    connectionName: name,
    connectTimeout: connectTimeoutMs,
    commandTimeout: commandTimeoutMs,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(reconnect.maxMs, reconnect.firstMs * 2 ** Math.min(attempt, 10)),
    // After a fail-over the old address may still answer, but as a replica.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
  logChanges(client, name, log);
  const readinessKey = `ready:${name}:${randomUUID()}`;
  return {
    client,
    ping: async () => {
      await client.ping();
    },
    checkWrites: async () => {
      await client.set(readinessKey, '1', 'PX', readinessKeyMs);
    },
    close: () => close(client),
  };
}

/** Logs one line when Redis becomes unavailable and one when it is back. */
function logChanges(client: Redis, name: string, log: RedisLog): void {
  let isUnavailable = false;
  // Without a listener an `error` event would end the process.
  client.on('error', (error: Error & { readonly code?: string }) => {
    if (isUnavailable) return;
    isUnavailable = true;
    log.warn({ connection: name, err: error }, 'Redis is unavailable');
  });
  client.on('close', () => {
    if (isUnavailable || client.status === 'end') return;
    isUnavailable = true;
    log.warn({ connection: name }, 'Redis is unavailable');
  });
  client.on('ready', () => {
    if (isUnavailable) log.info({ connection: name }, 'Redis is back');
    isUnavailable = false;
  });
}

async function close(client: Redis): Promise<void> {
  client.removeAllListeners('close');
  try {
    if (client.status === 'ready') await client.quit();
  } catch {
    // The connection was lost meanwhile.
  } finally {
    client.disconnect();
  }
}
