import { dropExpired, ensurePartitions } from '@certwright/ct-index';
import { endSilentClients } from '../logs/silent-clients';
import { removeUnverified } from '../logs/unverified';
import type { DataSource } from 'typeorm';

const ensureRestMs = 5 * 60_000;
const dropRestMs = 3_600_000;
const silentRestMs = 10_000;
const unverifiedRestMs = 10_000;

export interface HousekeepingEvents {
  dropped(tables: readonly string[]): void;
  silentEnded(sessions: number): void;
  unverifiedRemoved(issuances: number): void;
}

/**
 * Partitions, before they are needed and when nobody can ask for them any more, what copies of this process that were frozen hold, and
 * what stopped logs have not proved; any number of processes may.
 *
 * @param silentMs longer than any statement may take
 */
export function housekeeping(
  database: DataSource,
  now: () => Date,
  silentMs: number,
  events: HousekeepingEvents,
): Readonly<Record<string, () => Promise<number>>> {
  return {
    ensurePartitions: async () => {
      await ensurePartitions(database, now());
      return ensureRestMs;
    },
    dropExpired: async () => {
      const tables = await dropExpired(database, now());
      if (tables.length > 0) events.dropped(tables);
      return dropRestMs;
    },
    endSilent: async () => {
      const sessions = await endSilentClients(database, silentMs);
      if (sessions > 0) events.silentEnded(sessions);
      return silentRestMs;
    },
    removeUnverified: async () => {
      const issuances = await removeUnverified(database);
      if (issuances > 0) events.unverifiedRemoved(issuances);
      return unverifiedRestMs;
    },
  };
}
