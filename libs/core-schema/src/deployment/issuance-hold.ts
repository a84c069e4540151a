import type { DataSource } from 'typeorm';

export interface IssuanceHold {
  readonly since: Date;
  readonly reason: string | null;
}

/**
 * Condition: no issuance may be advanced. Before the migration "issuance-hold" the column resolves to that of
 * `earlier`.
 */
export const issuancesAreHeld = `EXISTS (
  SELECT 1 FROM (SELECT NULL::timestamptz AS held_since) AS earlier
  CROSS JOIN LATERAL (SELECT held_since FROM deployment) AS own WHERE own.held_since IS NOT NULL)`;

/**
 * A failover begins a new timeline while workers run or shortly after. A database that comes back with a new timeline,
 * and that no worker has seen for this long, was restored from a backup, or has been failed over after a long outage.
 */
const restoredAfter = `interval '10 minutes'`;
const seenEvery = `interval '10 seconds'`;
const isNewlyRestored = `held_since IS NULL AND deployment.timeline <> server.timeline
  AND timeline_seen_at < now() - ${restoredAfter}`;

/**
 * Holds the issuances of a database that was restored, and stores the timeline of the server.
 *
 * @returns null: not held
 */
export async function watchTimeline(database: DataSource): Promise<IssuanceHold | null> {
  if (!(await hasHold(database))) return null;
  await database.query(
    `UPDATE deployment SET
       held_since = CASE WHEN ${isNewlyRestored} THEN clock_timestamp() ELSE held_since END,
       hold_reason = CASE WHEN ${isNewlyRestored}
         THEN 'the timeline of PostgreSQL changed from ' || deployment.timeline || ' to ' || server.timeline
           || ', and no worker had used the database since ' || timeline_seen_at
         ELSE hold_reason END,
       timeline = server.timeline, timeline_seen_at = clock_timestamp()
     FROM (SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline) AS server
     WHERE deployment.timeline IS DISTINCT FROM server.timeline OR timeline_seen_at < now() - ${seenEvery}`,
  );
  return await findHold(database);
}

/** @returns null: not held */
export async function findHold(database: Pick<DataSource, 'query'>): Promise<IssuanceHold | null> {
  const [row] = await database.query<[IssuanceHold?]>(
    `SELECT held_since AS since, hold_reason AS reason FROM deployment WHERE held_since IS NOT NULL`,
  );
  return row ?? null;
}

/** False before the migration "issuance-hold". */
async function hasHold(database: DataSource): Promise<boolean> {
  const [row] = await database.query<[{ exists: boolean }]>(
    `SELECT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = 'deployment'::regclass AND attname = 'held_since'
       AND NOT attisdropped) AS exists`,
  );
  return row.exists;
}
