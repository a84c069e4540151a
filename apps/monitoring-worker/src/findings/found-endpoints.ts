import type { Tx } from '@certwright/core-schema';

/** A host with a certificate. */
export interface FoundEndpoint {
  readonly account: string;
  /** Normal form, no wildcard. */
  readonly dnsName: string;
  /** Expiry of the certificate. */
  readonly notAfter: Date;
}

/**
 * Locks those that exist until the end of the transaction, in the order of `StoreChecks`. As there, endpoints are locked before
 * the accounts: in another order, both would wait for each other.
 */
export async function lockEndpoints(tx: Tx, found: readonly FoundEndpoint[]): Promise<void> {
  if (found.length === 0) return;
  await tx.query(
    `SELECT FROM monitored_endpoint WHERE (account_id, dns_name) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))
     ORDER BY account_id, dns_name FOR UPDATE`,
    [found.map(({ account }) => account), found.map(({ dnsName }) => dnsName)],
  );
}

/**
 * Adds hosts to those of their accounts, up to `account.max_monitored_endpoints`, and notes until when they have certificates.
 * Hosts with a new certificate are checked soon, as new hosts are: it may be installed within minutes.
 * The caller locked the endpoints and the accounts.
 *
 * @returns the added ones
 */
export async function addEndpoints(
  tx: Tx,
  found: readonly FoundEndpoint[],
): Promise<readonly Pick<FoundEndpoint, 'account' | 'dnsName'>[]> {
  const latest = new Map<string, FoundEndpoint>();
  for (const each of found) {
    const key = `${each.account}:${each.dnsName}`;
    const other = latest.get(key);
    if (other === undefined || other.notAfter < each.notAfter) latest.set(key, each);
  }
  if (latest.size === 0) return [];
  const given = [...latest.values()];
  const values = [
    given.map(({ account }) => account),
    given.map(({ dnsName }) => dnsName),
    given.map(({ notAfter }) => notAfter),
  ];
  await tx.query(updateStatement, values);
  return await tx.query(insertStatement, values);
}

const updateStatement = `
  UPDATE monitored_endpoint AS endpoint SET last_not_after = given.not_after,
    check_due_at = least(check_due_at, now() + random() * interval '5 minutes')
  FROM unnest($1::bigint[], $2::text[], $3::timestamptz[]) AS given (account_id, dns_name, not_after)
  WHERE endpoint.account_id = given.account_id AND endpoint.dns_name = given.dns_name
    AND (endpoint.last_not_after IS NULL OR endpoint.last_not_after < given.not_after)`;

const insertStatement = `
  WITH missing AS (
    SELECT given.*, row_number() OVER (PARTITION BY account_id ORDER BY nth) AS place
    FROM unnest($1::bigint[], $2::text[], $3::timestamptz[]) WITH ORDINALITY
      AS given (account_id, dns_name, not_after, nth)
    WHERE NOT EXISTS (
      SELECT 1 FROM monitored_endpoint AS endpoint
      WHERE endpoint.account_id = given.account_id AND endpoint.dns_name = given.dns_name)),
  free AS (
    SELECT id, max_monitored_endpoints - (
      SELECT count(*) FROM monitored_endpoint AS endpoint WHERE endpoint.account_id = account.id) AS places
    FROM account WHERE id IN (SELECT account_id FROM missing))
  INSERT INTO monitored_endpoint (account_id, dns_name, last_not_after)
  SELECT missing.account_id, missing.dns_name, missing.not_after
  FROM missing JOIN free ON free.id = missing.account_id AND missing.place <= free.places
  ON CONFLICT DO NOTHING
  RETURNING account_id AS account, dns_name AS "dnsName"`;
