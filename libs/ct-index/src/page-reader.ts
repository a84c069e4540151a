import { type Home, young } from '@certwright/ct-schema';
import type { EntityManager } from 'typeorm';

/** Questions that the database may be asked many of at once: most of what a small one costs is its way. */
export interface Lookup<Question, Answer> {
  /** One statement. @returns the answers, in the order of the questions */
  of(reader: Pick<EntityManager, 'query'>, questions: readonly Question[]): Promise<readonly Answer[]>;
}

/** What pages are read with. */
export interface PageReader extends Pick<EntityManager, 'query'> {
  /** In one statement, together with the questions of others or without them. @returns as `Lookup` */
  look<Question, Answer>(
    lookup: Lookup<Question, Answer>,
    questions: readonly Question[],
  ): Promise<readonly Answer[]>;
  readonly settled: SettledHomes;
  /** Tables are spread over several servers: who looks for a key does so in a statement that names its shard. */
  readonly isSharded: boolean;
}

/** Without the questions of others. */
export function readingAlone(reader: Pick<EntityManager, 'query'>, isSharded = false): PageReader {
  return {
    query: async (text: string, values?: unknown[]) => await reader.query(text, values),
    look: async (lookup, questions) => await lookup.of(reader, questions),
    settled: new SettledHomes(),
    isSharded,
  };
}

/**
 * Settings of connections that pages are read with: a statement is sent with all that it needs, so that a plan made once serves
 * every page; each part of it is a look into an index, whatever the tables held when the plan was made; nothing is written.
 */
export const pageSession =
  '-c default_transaction_read_only=on -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off';

/** Partitions of positions that have become one run each, as far as they have been met: where to look first. */
export class SettledHomes {
  /** Their ends, exclusive, ascending. */
  private ends: readonly Home[] = [];

  /** Where the first run behind a position probably is: the young ones follow all that have settled. */
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
