import { createHash } from 'node:crypto';
import type { EntityManager } from 'typeorm';

/** A CA that signed certificates of the index. */
export interface KnownCa {
  /** DER Name. */
  readonly nameDer: Buffer;
  /** DER SubjectPublicKeyInfo. */
  readonly spkiDer: Buffer;
}

/** Max keys of one name: names of CAs are no secret, so other CAs can use them too. */
const maxKeys = 50;

/** The CAs with these names (DER), whose keys are known. */
export async function casNamed(
  reader: Pick<EntityManager, 'query'>,
  names: readonly Uint8Array[],
): Promise<readonly KnownCa[]> {
  if (names.length === 0) return [];
  return await reader.query(
    `SELECT ca.name_der AS "nameDer", ca.spki_der AS "spkiDer"
     FROM unnest($1::bytea[]) AS given (name_sha256) CROSS JOIN LATERAL (
       SELECT name_der, spki_der FROM ct_issuer
       WHERE ct_issuer.name_sha256 = given.name_sha256 AND spki_der IS NOT NULL ORDER BY id LIMIT $2) AS ca`,
    [names.map((name) => createHash('sha256').update(name).digest()), maxKeys],
  );
}
