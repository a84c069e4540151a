import type { EntityManager } from 'typeorm';

/** The names whose certificates are stored if CT_INDEX_SCOPE of ct-ingest is `monitored`. */
export interface WatchedNames {
  /** Changes with each change of the names. */
  readonly version: string;
  /** Enabled monitored domains of all accounts; a leading dot: the whole tree. */
  readonly names: readonly string[];
}

/** One row: cheap enough for each second. */
export async function watchedVersion(reader: Pick<EntityManager, 'query'>): Promise<string> {
  const [{ version }] = await reader.query<[{ version: string }]>(`SELECT version FROM ct_watched_version`);
  return version;
}

export async function watchedNames(reader: Pick<EntityManager, 'query'>): Promise<WatchedNames> {
  const [row] = await reader.query<[WatchedNames]>(
    `SELECT version, ARRAY(SELECT name FROM ct_watched_name) AS names FROM ct_watched_version`,
  );
  return row;
}

/**
 * Fences writers, in the transaction of each write: a term is the token of the writer's lease, and the upper half of the version.
 *
 * @returns null: nothing of a later term was written, or will be before the transaction ends; else the later term
 */
export async function beginWatchedTerm(tx: EntityManager, term: string): Promise<string | null> {
  const [, begun] = await tx.query<[unknown, number]>(
    `UPDATE ct_watched_version SET version = greatest(version, $1::bigint << 32) WHERE version >> 32 <= $1::bigint`,
    [term],
  );
  if (begun > 0) return null;
  const [{ later }] = await tx.query<[{ later: string }]>(
    `SELECT version >> 32 AS later FROM ct_watched_version`,
  );
  return later;
}

export interface WatchedChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** In the caller's transaction. Repeating it changes nothing. A name that is in both lists is added. */
export async function changeWatchedNames(
  tx: EntityManager,
  { added, removed }: WatchedChange,
): Promise<void> {
  const [, deleted] = await tx.query<[unknown, number]>(
    `DELETE FROM ct_watched_name WHERE name = ANY ($1::text[]) AND name <> ALL ($2::text[])`,
    [removed, added],
  );
  const inserted = await tx.query<unknown[]>(
    `INSERT INTO ct_watched_name (name) SELECT DISTINCT unnest($1::text[]) ON CONFLICT DO NOTHING RETURNING 1`,
    [added],
  );
  if (deleted + inserted.length > 0) await tx.query(`UPDATE ct_watched_version SET version = version + 1`);
}
