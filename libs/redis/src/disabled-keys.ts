import { connectRedis, type RedisLog } from './redis-connection';

/** Published when an operator disables a key: `{"pattern": "api-key-disabled", "data": {"secretSha256": "<hex>"}}`. */
export const disabledKeysChannel = 'api-key-disabled';

/** A cache of keys. */
export interface RememberedKeys {
  /** Any key may have changed. */
  clear(): void;
  /** @param secretSha256 SHA-256 over the whole key as sent */
  forget(secretSha256: Buffer): void;
}

export interface DisabledKeysOptions {
  /** Of the process: the connection is called `<name>-disabled-keys`. */
  readonly name: string;
  readonly keys: RememberedKeys;
  readonly log: RedisLog;
  /** Another channel, when the Redis is shared: channels do not belong to a database. */
  readonly channel?: string;
}

/**
 * Removes a key from a cache as soon as it is disabled. A plain subscription instead of Nest's Redis transport, which
 * does not start while Redis is down and does not recover missed messages. Messages may be lost; then the lifetime of
 * cache entries is the limit.
 */
export function followDisabledKeys(
  redisUrl: string,
  { name, keys, log, channel = disabledKeysChannel }: DisabledKeysOptions,
): { close(): Promise<void> } {
  const connection = connectRedis(redisUrl, { name: `${name}-disabled-keys`, log });
  const { client } = connection;
  client.on('ready', () => {
    // Messages published without a subscription are lost.
    keys.clear();
    client.subscribe(channel).catch((error: unknown) => {
      log.warn({ err: error }, 'cannot subscribe to disabled keys');
      client.disconnect(true);
    });
  });
  client.on('message', (_channel: string, message: string) => {
    const secretSha256 = secretSha256In(message);
    // An unreadable message may be about any key.
    if (secretSha256 === null) keys.clear();
    else keys.forget(secretSha256);
  });
  return connection;
}

/** In the envelope of Nest's Redis client. */
function secretSha256In(message: string): Buffer | null {
  try {
    const { data } = JSON.parse(message) as { readonly data?: { readonly secretSha256?: unknown } };
    const hex = data?.secretSha256;
    return typeof hex === 'string' && /^[0-9a-f]{64}$/i.test(hex) ? Buffer.from(hex, 'hex') : null;
  } catch {
    return null;
  }
}
