import { randomBytes } from 'node:crypto';
import type { TestDatabase } from '@certwright/testing';

/** Columns that differ from a certificate of the stream that is unknown and was reported. */
export type FindingColumns = Readonly<Record<string, unknown>>;

/** A finding as the worker stores it. @returns its digest, in hexadecimal */
export async function addFinding(
  database: TestDatabase,
  accountId: string,
  names: readonly string[] = ['www.example.com'],
  special: FindingColumns = {},
): Promise<string> {
  const columns: FindingColumns = {
    account_id: accountId,
    tbs_sha256: randomBytes(32),
    position: '7',
    spki_sha256: randomBytes(32),
    issuer_spki_sha256: randomBytes(32),
    not_before: new Date(),
    not_after: new Date(Date.now() + 90 * 86_400_000),
    dns_names_sha256: randomBytes(32),
    endpoints: JSON.stringify(
      names.map((dns_name) => ({
        dns_name,
        monitored_domain: '.example.com',
        wildcard: false,
        odd_name: false,
      })),
    ),
    endpoint_count: names.length,
    dns_names: names,
    monitored_domains: ['.example.com'],
    source: 'stream',
    state: 'unknown',
    reason: 'unknown',
    alerted_at: new Date(),
    alert: JSON.stringify({ change: ['new_issuer', 'new_key'] }),
    ...special,
  };
  const all = Object.keys(columns);
  await database.query(
    `INSERT INTO monitoring_finding (${all.join(', ')}) VALUES (${all.map((_, at) => `$${at + 1}`).join(', ')})`,
    Object.values(columns),
  );
  return (columns['tbs_sha256'] as Buffer).toString('hex');
}
