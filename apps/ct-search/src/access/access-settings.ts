import {
  databaseUrl,
  durationMs,
  integer,
  limitSettings,
  poolerSettings,
  type Rate,
  redisSettings,
  type SettingValues,
} from '@certwright/service';
import type { AnonymousRates } from './anonymous-limits';

/** Settings of search access; spread into the application's own table. The limits of a plan are in the core database. */
export const accessSettings = {
  DATABASE_URL: databaseUrl({
    meaning:
      'The core database (PostgreSQL), where API keys and search plans are looked up; while it is unavailable, queries with a key get 503, and queries without a key continue',
  }),
  ...poolerSettings,
  DATABASE_POOL_SIZE: integer({
    meaning: 'Connections to the core database at most; each key is looked up once in 10 s',
    unit: 'connections',
    min: 1,
    max: 100,
    default: 4,
  }),
  KEY_TIMEOUT: durationMs({
    meaning: 'A key whose look-up in the core database takes longer gets 503',
    minMs: 100,
    maxMs: 60_000,
    default: 3_000,
  }),
  ...redisSettings({
    meaning:
      'Redis, for rate limits and news of disabled keys; while it is unavailable, limits hold per process, and a disabled key works for up to 10 s',
  }),
  FAILED_AUTHENTICATION_PER_MIN: limitSettings.FAILED_AUTHENTICATION_PER_MIN,
  ANONYMOUS_PER_S: integer({
    meaning: 'Requests without a key per client address (IPv6: per /64), as many at once',
    unit: '1/s',
    min: 1,
    max: 100_000,
    default: 5,
  }),
  ANONYMOUS_PER_MIN: integer({
    meaning: 'Requests without a key per client address, as many at once',
    unit: '1/min',
    min: 1,
    max: 1_000_000,
    default: 75,
  }),
  ANONYMOUS_SINGLE_PER_HOUR: integer({
    meaning: 'Valid queries for one name without a key per client address, as many at once',
    unit: '1/h',
    min: 1,
    max: 10_000_000,
    default: 100,
  }),
  ANONYMOUS_SUBDOMAINS_PER_HOUR: integer({
    meaning: 'Valid queries with `include_subdomains` without a key per client address, as many at once',
    unit: '1/h',
    min: 1,
    max: 10_000_000,
    default: 10,
  }),
  ANONYMOUS_TIME_LIMIT: durationMs({
    meaning: 'How long a query without a key may run; then it gets 504 `timeout`',
    minMs: 100,
    maxMs: 600_000,
    default: 5_000,
  }),
};

export type AccessConfig = SettingValues<typeof accessSettings>;

/** Max requests per period, which is also the burst after a pause. */
const within = (seconds: number, count: number): Rate => ({ ratePerS: count / seconds, burst: count });

export function anonymousRates(config: AccessConfig): AnonymousRates {
  return {
    second: within(1, config.ANONYMOUS_PER_S),
    minute: within(60, config.ANONYMOUS_PER_MIN),
    hour: {
      single: within(3_600, config.ANONYMOUS_SINGLE_PER_HOUR),
      subdomains: within(3_600, config.ANONYMOUS_SUBDOMAINS_PER_HOUR),
    },
  };
}

export const failedAuthenticationRate = (config: AccessConfig): Rate =>
  within(60, config.FAILED_AUTHENTICATION_PER_MIN);
