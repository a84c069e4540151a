import { citusOnce, type Home, young } from '@certwright/ct-schema';
import type { SessionSettings } from '@certwright/postgres';
import type { EntityManager } from 'typeorm';
import { RecentBlocks } from './runs/recent-blocks';
import { RunFilters } from './runs/run-filters';

/** Lookups that can be batched: most of the cost of a small one is its round trip. */
export interface Lookup<Input, Result> {
  /** One statement. @returns the results, in the order of the lookups */
  of(reader: Pick<EntityManager, 'query'>, inputs: readonly Input[]): Promise<readonly Result[]>;
}

/** The database access for reading pages. */
export interface PageReader extends Pick<EntityManager, 'query'> {
  /** In one statement, which may include the lookups of other requests. @returns as `Lookup` */
  look<Input, Result>(lookup: Lookup<Input, Result>, inputs: readonly Input[]): Promise<readonly Result[]>;
  readonly settled: SettledHomes;
  readonly filters: RunFilters;
  /** Absent: each page needs a lookup. */
  readonly recent?: RecentBlocks | undefined;
  /** Tables may be distributed over several servers: each key needs a statement that determines its shard. */
  isSharded(): boolean | Promise<boolean>;
}

/** Without the lookups of other requests. */
export function readingAlone(
  reader: Pick<EntityManager, 'query'>,
  isSharded = citusOnce(reader),
): PageReader {
  return {
    query: async (text: string, values?: unknown[]) => await reader.query(text, values),
    look: async (lookup, inputs) => await lookup.of(reader, inputs),
    settled: new SettledHomes(),
    filters: new RunFilters(),
    recent: new RecentBlocks(),
    isSharded,
  };
}

/**
 * Settings of connections for reading pages: each part of a statement is an index lookup, regardless of the table statistics
 * at planning; read-only.
 */
export const pageSession: SessionSettings = {
  default_transaction_read_only: 'on',
  enable_seqscan: 'off',
  jit: 'off',
};

/**
 * The same for prepared statements: each is sent with all of its parameters, so that a plan made once fits every page. Citus
 * rejects such plans: it needs the values of parameters to find the shards.
 */
export const preparedPageSession: SessionSettings = { ...pageSession, plan_cache_mode: 'force_generic_plan' };

/** Known partitions of positions that were merged to one run each: where to look first. */
export class SettledHomes {
  /** Their ends, exclusive, ascending. */
  private ends: readonly Home[] = [];

  /** Probable location of the first run after a position: recent runs follow the fully merged ones. */
  behind(position: number): Home {
    return this.ends.find((end) => end > position + 1) ?? young;
  }

  learn(home: Home): void {
    if (home === young || this.ends.includes(home)) return;
    this.ends = [...this.ends, home].sort((one, other) => one - other);
  }

  forget(home: Home): void {
    this.ends = this.ends.filter((end) => end !== home);
  }
}
