import { integer } from '../config/setting-kinds';
import type { Rate } from './token-buckets';

/** Reads and writes are limited per API key, failed authentication per client address. */
export interface RequestLimits {
  readonly reads: Rate;
  readonly writes: Rate;
  readonly failedAuthentication: Rate;
}

/** The limits as settings; spread into an application's own table. */
export const limitSettings = {
  READS_PER_S: integer({
    meaning: 'Reads per API key; twice as many at once',
    unit: '1/s',
    min: 1,
    max: 100_000,
    default: 25,
  }),
  WRITES_PER_S: integer({
    meaning: 'Writes per API key; four times as many at once',
    unit: '1/s',
    min: 1,
    max: 100_000,
    default: 5,
  }),
  FAILED_AUTHENTICATION_PER_MIN: integer({
    meaning:
      'Wrong credentials per client address (IPv6: per /64) that are answered 401; further ones are answered 429',
    unit: '1/min',
    min: 1,
    max: 100_000,
    default: 10,
  }),
};

export function requestLimits(values: {
  readonly READS_PER_S: number;
  readonly WRITES_PER_S: number;
  readonly FAILED_AUTHENTICATION_PER_MIN: number;
}): RequestLimits {
  const perMinute = values.FAILED_AUTHENTICATION_PER_MIN;
  return {
    reads: { ratePerS: values.READS_PER_S, burst: 2 * values.READS_PER_S },
    writes: { ratePerS: values.WRITES_PER_S, burst: 4 * values.WRITES_PER_S },
    failedAuthentication: { ratePerS: perMinute / 60, burst: perMinute },
  };
}
