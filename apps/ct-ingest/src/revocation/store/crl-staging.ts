import { setImmediate as others } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import type { ListedRevocation } from './apply-crl';

/** The transaction waits while other ones change a batch, on a busy server; ms. */
const silentMs = 60_000;

/** Temporary tables of a transaction: the entries of a list, and their difference from the known ones. */
export const stagingTables = [
  `SET LOCAL idle_in_transaction_session_timeout = ${silentMs}`,
  `CREATE TEMPORARY TABLE ct_listed (serial bytea, revoked_at timestamptz, reason smallint) ON COMMIT DROP`,
  `CREATE TEMPORARY TABLE ct_change (nth integer PRIMARY KEY, serial bytea, revoked_at timestamptz, reason smallint) ON COMMIT DROP`,
];

/** Min date: no list is older, and PostgreSQL counts years before year 1 differently. A year has at most four digits. */
const [earliestMs, latestMs] = [Date.UTC(1950, 0, 1), Date.UTC(9999, 11, 31)];

/** @throws the reason of the signal */
export async function stage(
  staging: EntityManager,
  revoked: Iterable<readonly ListedRevocation[]>,
  signal: AbortSignal,
): Promise<void> {
  for (const piece of revoked) {
    signal.throwIfAborted();
    if (piece.length > 0) await stagePiece(staging, piece);
    await others();
  }
  await staging.query(`ANALYZE ct_listed`);
}

async function stagePiece(staging: EntityManager, piece: readonly ListedRevocation[]): Promise<void> {
  await staging.query(stageStatement, [
    Buffer.concat(piece.map(({ serial }) => serial)),
    piece.map(({ serial }) => serial.length),
    piece.map(({ revokedAt }) => Math.min(latestMs, Math.max(earliestMs, revokedAt)) / 1_000),
    piece.map(({ reason }) => reason),
  ]);
}

/** Serial numbers are sent to the server in one piece, as in `storeIssuances`. */
export const placedChanges = (serials: string, bytes: string, seconds: string, reasons: string) => `
  SELECT substring(${serials}::bytea from (after - bytes)::int + 1 for bytes) AS serial, to_timestamp(seconds) AS revoked_at, reason
  FROM (
    SELECT bytes, seconds, reason, sum(bytes) OVER (ORDER BY nth ROWS UNBOUNDED PRECEDING) AS after
    FROM unnest(${bytes}::int[], ${seconds}::float8[], ${reasons}::smallint[]) WITH ORDINALITY
      AS given (bytes, seconds, reason, nth)) AS placed`;

const stageStatement = `
  INSERT INTO ct_listed (serial, revoked_at, reason) ${placedChanges('$1', '$2', '$3', '$4')}`;

/** The changes from `after`, exclusive, to `to`, as the parameters of `placedChanges`. */
export async function batchOf(staging: EntityManager, after: number, to: number): Promise<unknown[]> {
  const [{ serials, bytes, seconds, reasons }] = await staging.query<[Record<string, unknown>]>(
    `SELECT string_agg(serial, ''::bytea ORDER BY nth) AS serials, array_agg(octet_length(serial) ORDER BY nth) AS bytes,
       array_agg(extract(epoch FROM revoked_at)::float8 ORDER BY nth) AS seconds, array_agg(reason ORDER BY nth) AS reasons
     FROM ct_change WHERE nth > $1 AND nth <= $2`,
    [after, to],
  );
  return [serials, bytes, seconds, reasons];
}

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
