import { connectRedis, type RedisLog } from './redis-connection';

/** Published when an operator disables a key: `{"pattern": "api-key-disabled", "data": {"secretSha256": "<hex>"}}`. */
export const disabledKeysChannel = 'api-key-disabled';

/** What remembers keys, and how it is made to look again. */
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
  /** Another channel, for who shares a Redis with strangers: channels know no databases. */
  readonly channel?: string;
}

/**
 * Forgets a key as soon as it is disabled. A plain subscription in place of Nest's Redis transport: that one does not
 * start while Redis is away, and never hears again what it missed. The news may be lost all the same; then the time
 * that `keys` keeps its answers is the bound.
 */
export function followDisabledKeys(
  redisUrl: string,
  { name, keys, log, channel = disabledKeysChannel }: DisabledKeysOptions,
): { close(): Promise<void> } {
  const connection = connectRedis(redisUrl, { name: `${name}-disabled-keys`, log });
  const { client } = connection;
  client.on('ready', () => {
    // What was published while nobody listened is gone.
    keys.clear();
    client.subscribe(channel).catch((error: unknown) => {
      log.warn({ err: error }, 'cannot subscribe to disabled keys');
      client.disconnect(true);
    });
  });
  client.on('message', (_channel: string, message: string) => {
    const secretSha256 = secretSha256In(message);
    // News that cannot be read is news all the same.
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
