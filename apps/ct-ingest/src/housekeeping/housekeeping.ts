import { dropExpired, ensurePartitions } from '@certwright/ct-persistence';
import type { DataSource } from 'typeorm';

const ensureRestMs = 5 * 60_000;
const dropRestMs = 3_600_000;

/** Partitions, before they are needed and when nobody can ask for them any more; any number of processes may. */
export function housekeeping(
  database: DataSource,
  now: () => Date,
  dropped: (tables: readonly string[]) => void,
): Readonly<Record<string, () => Promise<number>>> {
  return {
    ensurePartitions: async () => {
      await ensurePartitions(database, now());
      return ensureRestMs;
    },
    dropExpired: async () => {
      const tables = await dropExpired(database, now());
      if (tables.length > 0) dropped(tables);
      return dropRestMs;
    },
  };
}
