import type { FindingSource, Tx } from '@certwright/core-schema';
import { keyOf } from './known-facts';

/** A new finding with a place in the index. */
export interface PlacedFinding {
  readonly account: string;
  readonly tbsSha256: Buffer;
  readonly position: string;
  readonly dnsNames: readonly string[];
}

interface Newest {
  readonly account: string;
  readonly dnsName: string;
  readonly tbsSha256: Buffer;
  readonly position: string;
}

/**
 * Finds for each new finding the newest one before it in the index that shares a name, and notes the new ones for those to
 * come. The caller locked the accounts.
 *
 * @returns digests by `keyOf`; without findings whose names are new
 */
export async function previousFindings(
  tx: Tx,
  findings: readonly PlacedFinding[],
  source: FindingSource,
): Promise<ReadonlyMap<string, Buffer>> {
  const names = new Map<string, readonly [account: string, dnsName: string]>();
  for (const { account, dnsNames } of findings) {
    for (const dnsName of dnsNames) names.set(`${account}:${dnsName}`, [account, dnsName]);
  }
  if (names.size === 0) return new Map();
  const rows = await tx.query<Newest[]>(
    `SELECT account_id AS account, dns_name AS "dnsName", tbs_sha256 AS "tbsSha256", position FROM monitored_name
     WHERE (account_id, dns_name) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))`,
    [[...names.values()].map(([account]) => account), [...names.values()].map(([, dnsName]) => dnsName)],
  );
  const newest = new Map(rows.map((row) => [`${row.account}:${row.dnsName}`, row]));
  const changed = new Map<string, Newest>();
  const previous = new Map<string, Buffer>();
  const inOrder = [...findings].sort((one, other) => Number(one.position) - Number(other.position));
  for (const { account, tbsSha256, position, dnsNames } of inOrder) {
    let before: Newest | undefined;
    for (const dnsName of dnsNames) {
      const name = `${account}:${dnsName}`;
      const last = newest.get(name);
      // The stream is in order, also after the index was restored and its positions were assigned again.
      const isLater = last === undefined || source === 'stream' || Number(last.position) < Number(position);
      if (isLater) {
        const now = { account, dnsName, tbsSha256, position };
        newest.set(name, now);
        changed.set(name, now);
      }
      if (last === undefined || !isLater || last.tbsSha256.equals(tbsSha256)) continue;
      if (before === undefined || Number(before.position) < Number(last.position)) before = last;
    }
    if (before !== undefined) previous.set(keyOf(account, tbsSha256), before.tbsSha256);
  }
  await store(tx, [...changed.values()]);
  return previous;
}

async function store(tx: Tx, names: readonly Newest[]): Promise<void> {
  if (names.length === 0) return;
  await tx.query(
    `INSERT INTO monitored_name (account_id, dns_name, tbs_sha256, position)
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bigint[])
     ON CONFLICT (account_id, dns_name)
       DO UPDATE SET tbs_sha256 = excluded.tbs_sha256, position = excluded.position`,
    [
      names.map(({ account }) => account),
      names.map(({ dnsName }) => dnsName),
      names.map(({ tbsSha256 }) => tbsSha256),
      names.map(({ position }) => position),
    ],
  );
}
