import { CrlIds, crlsOf, IssuerIds, packBody, storeIssuances } from '@certwright/ct-index';
import { ctDataSource } from '@certwright/ct-schema';
import { anIssuance } from '@certwright/ct-testing';
import type { TestDatabase } from '@certwright/testing';
import { certificatePem } from './fixtures';

const certificateDer = Buffer.from(certificatePem.replace(/-----.*-----|\n/g, ''), 'base64');

export interface IndexedIssuance {
  readonly tbsSha256: Buffer;
  readonly position: string;
  /** Base64. */
  readonly certDer: string;
}

/** An issuance in the index of an API that was started with one. */
export async function addIssuance(
  database: TestDatabase,
  ...dnsNames: readonly [string, ...string[]]
): Promise<IndexedIssuance> {
  const owner = await ctDataSource({
    url: database.url,
    applicationName: 'spec',
    poolSize: 1,
    statementTimeoutMs: 30_000,
  }).initialize();
  const issuance = anIssuance(dnsNames[0], { dnsNames, body: packBody(certificateDer, 'none') });
  const ids = new IssuerIds();
  await ids.ensure(owner.manager, [issuance.issuer]);
  const crls = await crlsOf(owner.manager, new CrlIds(), ids, [issuance]);
  await owner.transaction(async (tx) => await storeIssuances(tx, ids, [issuance], crls));
  await owner.query(
    `INSERT INTO ct_issuer_profile (spki_sha256, certificates, friendly_name, website, caa_domains, as_of, source)
     VALUES ($1, '{}', 'Example CA', 'https://ca.example.net', '{ca.example.net}', now(), 'spec')
     ON CONFLICT DO NOTHING`,
    [issuance.issuer.spkiSha256],
  );
  await owner.destroy();
  const tbsSha256 = Buffer.from(issuance.tbsSha256, 'hex');
  const [row] = await database.query<{ position: string }>(
    `SELECT position FROM ct_issuance WHERE tbs_sha256 = $1`,
    [tbsSha256],
  );
  if (row === undefined) throw new Error('the issuance was not stored');
  return { tbsSha256, position: row.position, certDer: certificateDer.toString('base64') };
}
