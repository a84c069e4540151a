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
  /** How long a command may wait for its answer, in milliseconds. Default: 500. */
  readonly commandTimeoutMs?: number;
  /** How long a connection may take to be made, in milliseconds. Default: 5,000. */
  readonly connectTimeoutMs?: number;
}

export interface RedisConnection {
  readonly client: Redis;
  /** Rejects when Redis does not answer in time: a readiness check for what only reads or subscribes. */
  ping(): Promise<void>;
  /** Rejects when Redis does not answer in time, or refuses writes (OOM, READONLY, MISCONF): a readiness check. */
  checkWrites(): Promise<void>;
  /** Never rejects; what is under way gets a moment to finish. */
  close(): Promise<void>;
}

/** How long the key of a readiness check stays, ms. */
const readinessKeyMs = 10_000;

/** First and longest wait before connecting again, in milliseconds. */
const reconnect = { firstMs: 50, longestMs: 2_000 };

/**
 * A connection for the path of a request: a command is answered in time or rejects, and none waits for Redis to come
 * back. The connection is made in the background and made again for ever. Commands that were sent and not answered
 * are not sent again, so each runs at most once.
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
    retryStrategy: (attempt) => Math.min(reconnect.longestMs, reconnect.firstMs * 2 ** Math.min(attempt, 10)),
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

/** One line when Redis goes away and one when it is back, however often connecting fails between. */
function logChanges(client: Redis, name: string, log: RedisLog): void {
  let away = false;
  // Without a listener an `error` event would end the process.
  client.on('error', (error: Error & { readonly code?: string }) => {
    if (away) return;
    away = true;
    log.warn({ connection: name, err: error }, 'Redis is away');
  });
  client.on('close', () => {
    if (away || client.status === 'end') return;
    away = true;
    log.warn({ connection: name }, 'Redis is away');
  });
  client.on('ready', () => {
    if (away) log.info({ connection: name }, 'Redis is back');
    away = false;
  });
}

async function close(client: Redis): Promise<void> {
  client.removeAllListeners('close');
  try {
    if (client.status === 'ready') await client.quit();
  } catch {
    // It went away meanwhile, which is what was to be done.
  } finally {
    client.disconnect();
  }
}
