import type { DataSource } from 'typeorm';
import { pageOfAll, type StoredIssuance } from '@certwright/ct-index';
import { coverageIn, revocationFacts, type RevocationFacts } from '@certwright/ct-index';

export type CheckedIssuance = Pick<StoredIssuance, 'issuer' | 'crl' | 'serial' | 'notAfter' | 'discoveredAt'>;

/** Facts about certificates that are stored for it, in their order. */
export async function factsAbout(
  database: DataSource,
  checked: readonly CheckedIssuance[],
): Promise<readonly RevocationFacts[]> {
  const [{ last }] = await database.query<[{ last: string }]>(
    `SELECT coalesce(max(position), 0) AS last FROM ct_issuance`,
  );
  await database.query(
    `INSERT INTO ct_issuance (position, tbs_sha256, cert_sha256, precertificate, spki_sha256, issuer, crl, serial,
       not_before, not_after, discovered_at, dns_names, body)
     SELECT $1 + nth, digest, digest, false, digest, issuer, crl, serial, now(), not_after, discovered_at, '{}', ''
     FROM unnest($2::int[], $3::int[], $4::bytea[], $5::timestamptz[], $6::timestamptz[]) WITH ORDINALITY
       AS given (issuer, crl, serial, not_after, discovered_at, nth), sha256('') AS digest`,
    [
      last,
      checked.map(({ issuer }) => issuer),
      checked.map(({ crl }) => crl),
      checked.map(({ serial }) => serial),
      checked.map(({ notAfter }) => notAfter),
      checked.map(({ discoveredAt }) => discoveredAt),
    ],
  );
  const stored = await pageOfAll(database.manager, { after: last, limit: checked.length });
  return await revocationFacts(stored.issuances, coverageIn(database.manager));
}
