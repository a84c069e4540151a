import { parseRedisUrl, type RedisAddress } from '@certwright/redis-address';

/** Settings of a process that uses Redis, as `redisSettings` of `@certwright/service` reads them. */
export interface RedisSettings {
  readonly REDIS_URL: RedisAddress;
  readonly REDIS_PASSWORD_FILE: string | null;
  readonly REDIS_SENTINEL_USER: string | null;
  readonly REDIS_SENTINEL_PASSWORD_FILE: string | null;
  readonly REDIS_CA_FILE: string | null;
  readonly REDIS_PREFIX: string;
}

/**
 * The settings with their defaults, for commands and specs.
 *
 * @throws Error that names REDIS_URL and contains nothing of it
 */
export function redisSettingsOf(
  url: string,
  more: Partial<Omit<RedisSettings, 'REDIS_URL'>> = {},
): RedisSettings {
  const address = parseRedisUrl(url);
  if ('fault' in address) throw new Error(`REDIS_URL ${address.fault}`);
  return {
    REDIS_PASSWORD_FILE: null,
    REDIS_SENTINEL_USER: null,
    REDIS_SENTINEL_PASSWORD_FILE: null,
    REDIS_CA_FILE: null,
    REDIS_PREFIX: 'certwright',
    ...more,
    REDIS_URL: address,
  };
}
