import type { EntityManager } from 'typeorm';
import { unpackBody } from '../body';

/** A certificate of the index, with its issuer. */
export interface LoggedCertificate {
  readonly position: string;
  /** SHA-256 over `der`. */
  readonly certSha256: Buffer;
  readonly precertificate: boolean;
  readonly der: Buffer;
  /** `ct_issuer.id`. */
  readonly issuer: number;
  /** DER Name. */
  readonly issuerNameDer: Buffer;
  /** DER SubjectPublicKeyInfo; null: the log did not provide the issuer's certificate. */
  readonly issuerSpkiDer: Buffer | null;
}

interface Row extends Omit<LoggedCertificate, 'der'> {
  readonly body: Buffer;
}

/**
 * The certificates at positions, ordered by position: as many as fit `maxBytes` as they are stored, and at least the first.
 * Without those that are no longer stored.
 */
export async function loggedCertificates(
  reader: Pick<EntityManager, 'query'>,
  positions: readonly string[],
  maxBytes: number,
): Promise<readonly LoggedCertificate[]> {
  if (positions.length === 0) return [];
  const rows = await reader.query<Row[]>(
    `SELECT issuance.position, cert_sha256 AS "certSha256", precertificate, body, issuance.issuer,
       ct_issuer.name_der AS "issuerNameDer", ct_issuer.spki_der AS "issuerSpkiDer"
     FROM (
       SELECT position, sum(octet_length(body)) OVER (ORDER BY position) AS bytes, row_number() OVER (ORDER BY position) AS nth
       FROM ct_issuance WHERE position = ANY ($1::bigint[])) AS measured
     JOIN ct_issuance AS issuance USING (position)
     JOIN ct_issuer ON ct_issuer.id = issuance.issuer
     WHERE bytes <= $2 OR nth = 1 ORDER BY position`,
    [positions, maxBytes],
  );
  return rows.map(({ body, ...certificate }) => ({ ...certificate, der: unpackBody(body) }));
}
