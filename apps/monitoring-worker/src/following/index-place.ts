import type { Tx } from '@certwright/core-schema';
import { indexRange, readingAlone, tbsSha256At } from '@certwright/ct-index';

type Reader = Pick<Tx, 'query'>;

/** A position that was matched, and the issuance that it had. */
export interface MatchedPosition {
  readonly position: string;
  /** Null: nothing was matched yet. */
  readonly tbsSha256: Buffer | null;
}

export interface IndexNow {
  /** Digest of the issuance at the position; null: there is none. */
  readonly tbsSha256: Buffer | null;
  /** Position of the next new issuance. */
  readonly next: string;
  /** The server is a copy that may lack the newest issuances. */
  readonly isReplica: boolean;
  /** The server has everything that the index had at this time. */
  readonly now: Date;
}

/** A replica that has applied all that it received has everything; else what was committed when the last applied commit was. */
const statement = `
  SELECT (SELECT tbs_sha256 FROM ct_issuance WHERE position = $1) AS "tbsSha256", next, replica AS "isReplica",
    CASE WHEN replica AND pg_last_wal_receive_lsn() IS DISTINCT FROM pg_last_wal_replay_lsn()
      THEN coalesce(pg_last_xact_replay_timestamp(), now()) ELSE now() END AS now
  FROM ct_sequence, pg_is_in_recovery() AS replica`;

export async function indexNow(reader: Reader, position: string): Promise<IndexNow> {
  const [row] = await reader.query<[IndexNow]>(statement, [position]);
  return row;
}

/** `same`: the issuances after the cursor follow what was matched. `behind`: the server does not have the cursor's position yet. */
export type Continuity = 'same' | 'behind' | 'restored' | 'gone';

/**
 * Whether the index still is the one that was matched up to the cursor. `gone` if nothing is stored at the position: its
 * partition was dropped, or the index was restored.
 */
export function continuity({ position, tbsSha256 }: MatchedPosition, now: IndexNow): Continuity {
  if (BigInt(now.next) <= BigInt(position)) return now.isReplica ? 'behind' : 'restored';
  if (tbsSha256 === null) return 'same';
  if (now.tbsSha256 === null) return 'gone';
  return now.tbsSha256.equals(tbsSha256) ? 'same' : 'restored';
}

/** Whether nothing is stored at the position because its certificates have expired: the oldest are deleted first. */
export async function wasDropped(reader: Reader, position: string): Promise<boolean> {
  const { first } = await indexRange(readingAlone(reader));
  return first === null || BigInt(first) > BigInt(position);
}

export interface Checkpoint extends MatchedPosition {
  readonly tbsSha256: Buffer;
  readonly createdAt: Date;
}

/**
 * The newest checkpoint at which the index has what was matched.
 *
 * @param checkpoints newest first
 */
export async function newestAgreeing(
  reader: Reader,
  checkpoints: readonly Checkpoint[],
): Promise<Checkpoint | null> {
  const stored = await tbsSha256At(
    reader,
    checkpoints.map(({ position }) => position),
  );
  return (
    checkpoints.find(({ position, tbsSha256 }) => stored.get(position)?.equals(tbsSha256) === true) ?? null
  );
}
