import { setImmediate as others } from 'node:timers/promises';
import type { QueryRunner } from 'typeorm';
import type { ListedRevocation } from './apply-crl';

/** Temporary tables of a connection: the entries of a list, and their difference from the known ones. */
export const stagingTables = [
  `CREATE TEMPORARY TABLE IF NOT EXISTS ct_listed (serial bytea, revoked_at timestamptz, reason smallint)`,
  `CREATE TEMPORARY TABLE IF NOT EXISTS ct_change (nth integer PRIMARY KEY, serial bytea, revoked_at timestamptz, reason smallint)`,
  `TRUNCATE ct_listed, ct_change`,
];

/** Min date: no list is older, and PostgreSQL counts years before year 1 differently. A year has at most four digits. */
const [earliestMs, latestMs] = [Date.UTC(1950, 0, 1), Date.UTC(9999, 11, 31)];

/** @throws the reason of the signal */
export async function stage(
  connection: QueryRunner,
  revoked: Iterable<readonly ListedRevocation[]>,
  signal: AbortSignal,
): Promise<void> {
  for (const piece of revoked) {
    signal.throwIfAborted();
    if (piece.length > 0) await stagePiece(connection, piece);
    await others();
  }
  await connection.query(`ANALYZE ct_listed`);
}

async function stagePiece(connection: QueryRunner, piece: readonly ListedRevocation[]): Promise<void> {
  await connection.query(stageStatement, [
    Buffer.concat(piece.map(({ serial }) => serial)),
    piece.map(({ serial }) => serial.length),
    piece.map(({ revokedAt }) => Math.min(latestMs, Math.max(earliestMs, revokedAt)) / 1_000),
    piece.map(({ reason }) => reason),
  ]);
}

/** Bytes are sent to the server in one piece, as in `storeIssuances`. */
const stageStatement = `
  INSERT INTO ct_listed (serial, revoked_at, reason)
  SELECT substring($1::bytea from (after - bytes)::int + 1 for bytes), to_timestamp(seconds), reason
  FROM (
    SELECT bytes, seconds, reason, sum(bytes) OVER (ORDER BY nth ROWS UNBOUNDED PRECEDING) AS after
    FROM unnest($2::int[], $3::float8[], $4::smallint[]) WITH ORDINALITY AS given (bytes, seconds, reason, nth)) AS placed`;

/**
 * The difference; the time is null if the entry is no longer on the list. Of entries with one serial number the first revocation
 * counts. Sorted, so that adjacent index entries are written together.
 */
export const changeStatement = `
  WITH listed AS MATERIALIZED (SELECT DISTINCT ON (serial) * FROM ct_listed ORDER BY serial, revoked_at, reason),
  changed AS (
    INSERT INTO ct_change (nth, serial, revoked_at, reason)
    SELECT row_number() OVER (ORDER BY serial), serial, listed.revoked_at, listed.reason
    FROM listed FULL JOIN (SELECT serial, revoked_at, reason FROM ct_revocation WHERE crl = $1) AS known USING (serial)
    WHERE listed.revoked_at IS DISTINCT FROM known.revoked_at OR listed.reason IS DISTINCT FROM known.reason
    RETURNING 1)
  SELECT (SELECT count(*)::int FROM listed) AS entries, (SELECT count(*)::int FROM changed) AS changes,
    (SELECT coalesce(sum(entries), 0)::float8 FROM ct_crl AS other
     WHERE other.id <> $1 AND other.issuer = (SELECT issuer FROM ct_crl WHERE id = $1)) AS others`;
