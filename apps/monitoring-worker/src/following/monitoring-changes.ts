import type { MonitoringChangeEntity, Tx } from '@certwright/core-schema';

type Reader = Pick<Tx, 'query'>;

/** How far the changes were applied. */
export interface ChangeCursor {
  readonly transactionId: string;
  readonly id: string;
}

export interface DomainKey {
  readonly account: string;
  readonly name: string;
}

type Action = Pick<MonitoringChangeEntity, 'object' | 'action'> & {
  readonly before: { readonly enabled?: boolean } | null;
  readonly after: { readonly enabled?: boolean } | null;
};

export interface Change extends DomainKey, Action {
  readonly id: string;
  readonly transactionId: string;
  /** No row before it can appear any more. */
  readonly isFinal: boolean;
}

export interface NewChanges {
  /** Not applied before. */
  readonly changes: readonly Change[];
  /** After they are applied. */
  readonly cursor: ChangeCursor;
  /** Applied ones after the cursor, which are read again. */
  readonly open: ReadonlySet<string>;
}

/** Max changes in one transaction. */
const pageSize = 1_000;

/**
 * A row of a transaction that this server has not begun is from before the database was restored on another server; it was
 * applied then (`finishChangesOfOtherServer`).
 */
const statement = `
  SELECT id, transaction_id AS "transactionId", account_id AS account, object, name, action,
    CASE WHEN object = 'monitored_domain' THEN before END AS before, CASE WHEN object = 'monitored_domain' THEN after END AS after,
    transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS "isFinal"
  FROM monitoring_change
  WHERE (transaction_id, id) > ($1, $2)
    AND transaction_id < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
  ORDER BY transaction_id, id LIMIT ${pageSize}`;

/**
 * The next changes, as docs/decisions/0016-monitored-domains.md describes.
 *
 * @param open applied ones after the cursor
 */
export async function changesAfter(
  reader: Reader,
  from: ChangeCursor,
  open: ReadonlySet<string>,
): Promise<NewChanges> {
  const changes: Change[] = [];
  const stillOpen = new Set<string>();
  let [cursor, last] = [from, from];
  for (;;) {
    const page = await reader.query<Change[]>(statement, [last.transactionId, last.id]);
    for (const change of page) {
      last = { transactionId: change.transactionId, id: change.id };
      // A later page is of a later time: rows before its first one may have appeared since, unless that was impossible then.
      if (change.isFinal && stillOpen.size === 0) cursor = last;
      else stillOpen.add(change.id);
      if (!open.has(change.id)) changes.push(change);
    }
    if (page.length < pageSize || changes.length >= pageSize) break;
  }
  // What was not read in this round may still be open.
  for (const id of open) if (changes.length >= pageSize) stillOpen.add(id);
  return { changes, cursor, open: stillOpen };
}

/** Whether certificates in the index may concern the account that did not before. */
function enlarges({ object, action, before, after }: Action): boolean {
  if (object !== 'monitored_domain') return false;
  // A disabled object excludes names from the tree above it.
  if (action === 'deleted') return before?.enabled === false;
  return after?.enabled === true && before?.enabled !== true;
}

/** @param untilPosition last position that was matched without the changes */
export async function addBackfills(
  tx: Reader,
  changes: readonly Change[],
  untilPosition: string,
): Promise<void> {
  const enlarging = changes.filter(enlarges);
  if (enlarging.length === 0) return;
  await tx.query(
    `INSERT INTO monitoring_backfill (change_id, account_id, name, until_position)
     SELECT id, account_id, name, $4 FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS given (id, account_id, name)
     ON CONFLICT (change_id) DO NOTHING`,
    [
      enlarging.map(({ id }) => id),
      enlarging.map(({ account }) => account),
      enlarging.map(({ name }) => name),
      untilPosition,
    ],
  );
}

/**
 * After the database was restored on another server, whose transactions have smaller ids: the changes after the cursor become
 * backfills, and the cursor becomes one of this server.
 *
 * @returns null: it is the same server
 */
export async function finishChangesOfOtherServer(
  tx: Reader,
  { transactionId, id }: ChangeCursor,
  untilPosition: string,
): Promise<ChangeCursor | null> {
  const [here] = await tx.query<[{ isOther: boolean; cursor: string }]>(
    `SELECT $1 >= pg_snapshot_xmax(snapshot)::text::bigint AS "isOther",
       pg_snapshot_xmin(snapshot)::text::bigint - 1 AS cursor FROM pg_current_snapshot() AS snapshot`,
    [transactionId],
  );
  if (!here.isOther) return null;
  const left = await tx.query<Change[]>(
    `SELECT id, account_id AS account, object, name, action, before, after FROM monitoring_change
     WHERE (transaction_id, id) > ($1, $2) ORDER BY transaction_id, id`,
    [transactionId, id],
  );
  await addBackfills(tx, left, untilPosition);
  return { transactionId: here.cursor, id: '0' };
}
