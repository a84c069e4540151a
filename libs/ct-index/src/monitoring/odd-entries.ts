import type { EntityManager } from 'typeorm';

type Reader = Pick<EntityManager, 'query'>;

/** An entry of a log that could not be read as a certificate, or was too large. */
export interface OddLogEntry {
  readonly entryIndex: string;
  readonly fault: string;
  /** Its first 64 KiB. */
  readonly leaf: Buffer;
  /** Bytes of the whole entry. */
  readonly leafBytes: number;
}

/** Max stored bytes that are read at once. */
const maxBytes = 8 * 1_048_576;

/** The newest odd entry of each log that has any: readers compare it with their cursors. */
export async function newestOddEntries(
  reader: Reader,
): Promise<readonly { readonly log: number; readonly entryIndex: string }[]> {
  return await reader.query(
    `SELECT id AS log, newest.entry_index AS "entryIndex" FROM ct_log
     CROSS JOIN LATERAL (
       SELECT entry_index FROM ct_odd_entry WHERE log = ct_log.id ORDER BY entry_index DESC LIMIT 1) AS newest
     ORDER BY id`,
  );
}

/**
 * The next odd entries of a log, in order: at most `limit`, fewer if they are large, and at least one if there is any. Within a
 * log they become visible in the order of their indexes.
 *
 * @param log `ct_log.id`
 * @param after index of the last one read; `-1`: from the first
 */
export async function oddEntriesAfter(
  reader: Reader,
  log: number,
  after: string,
  limit: number,
): Promise<readonly OddLogEntry[]> {
  return await reader.query(
    `SELECT odd.entry_index AS "entryIndex", fault, leaf, leaf_bytes AS "leafBytes" FROM (
       SELECT entry_index, sum(octet_length(leaf)) OVER (ORDER BY entry_index) - octet_length(leaf) AS before
       FROM (SELECT entry_index, leaf FROM ct_odd_entry WHERE log = $1 AND entry_index > $2 ORDER BY entry_index LIMIT $3) AS one
     ) AS measured
     JOIN ct_odd_entry AS odd ON odd.log = $1 AND odd.entry_index = measured.entry_index
     WHERE before < ${maxBytes} ORDER BY odd.entry_index`,
    [log, after, limit],
  );
}
