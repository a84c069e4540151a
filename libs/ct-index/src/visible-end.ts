import type { EntityManager } from 'typeorm';
import type { PageReader } from './page-reader';

/**
 * On Citus, a commit becomes visible on one server after the other: first on the coordinator with `ct_sequence`, last on the
 * servers with the rows. A lock that ends after the last of them has the first position of the commit as its key, below a
 * prefix that no other advisory lock has.
 */
const prefix = 0x4354n;
const positionBits = 48n;

/** Before the commit that begins at a position ends: until it is visible on all servers. */
export async function lockCommit(tx: Pick<EntityManager, 'query'>, from: number): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(${prefix << positionBits} | $1::bigint)`, [from]);
}

/**
 * Over `ct_sequence`: all issuances before this position are visible on all servers, or deleted. The snapshot is older
 * than the locks that are read: a commit of the snapshot without a lock has ended. On the server that writers connect to.
 */
const visibleEndExpression = `least(next, (
  SELECT min((classid::bigint << 32 | objid::bigint) & ${(1n << positionBits) - 1n}) FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND classid::bigint >> 16 = ${prefix}
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())))`;

async function visibleEnd(reader: Pick<EntityManager, 'query'>): Promise<number> {
  const [row] = await reader.query<{ end: string }[]>(
    `SELECT ${visibleEndExpression} AS "end" FROM ct_sequence`,
  );
  return Number(row?.end ?? 0);
}

/**
 * Exclusive end of what may be read; Infinity: a statement sees either all of a commit or nothing. On a distributed index it may
 * see a part, and several statements see several states: beyond this end, a later position may be visible before an earlier one.
 */
export async function endOfReading(reader: Pick<PageReader, 'query' | 'isSharded'>): Promise<number> {
  return (await reader.isSharded()) ? await visibleEnd(reader) : Infinity;
}

/** The next issuances after a position, before the end of reading. */
export function behindPosition(after: string, limit: number, end: number) {
  return end === Infinity
    ? { from: `FROM ct_issuance WHERE position > $1 ORDER BY position LIMIT $2`, values: [after, limit] }
    : {
        from: `FROM ct_issuance WHERE position > $1 AND position < $3 ORDER BY position LIMIT $2`,
        values: [after, limit, end],
      };
}
