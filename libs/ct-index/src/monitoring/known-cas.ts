import { createHash } from 'node:crypto';
import type { EntityManager } from 'typeorm';

/** Max keys of one name: names of CAs are no secret, so other CAs can use them too. */
const maxKeys = 50;

/** CA certificates (DER), one for each key, of issuers in the index with these names (DER). Logs provided them: nothing is verified. */
export async function casNamed(
  reader: Pick<EntityManager, 'query'>,
  names: readonly Uint8Array[],
): Promise<readonly Buffer[]> {
  if (names.length === 0) return [];
  const rows = await reader.query<{ der: Buffer }[]>(
    `SELECT ca.certificate_der AS der
     FROM unnest($1::bytea[]) AS given (name_sha256) CROSS JOIN LATERAL (
       SELECT certificate_der FROM ct_issuer
       WHERE ct_issuer.name_sha256 = given.name_sha256 AND certificate_der IS NOT NULL ORDER BY id LIMIT $2) AS ca`,
    [names.map((name) => createHash('sha256').update(name).digest()), maxKeys],
  );
  return rows.map(({ der }) => der);
}
