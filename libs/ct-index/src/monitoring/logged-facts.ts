import type { EntityManager } from 'typeorm';
import { positionsOf, type SoughtCertificate } from './places';

export interface LoggedFacts {
  /** The earliest revocation on lists that are fresh; null: on none. */
  readonly revokedAt: Date | null;
}

interface Row extends LoggedFacts {
  readonly position: string;
  readonly tbsSha256: Buffer;
}

/**
 * What the index has of certificates.
 *
 * @returns in their order; null: not in the index
 */
export async function loggedFacts(
  reader: Pick<EntityManager, 'query'>,
  certificates: readonly SoughtCertificate[],
): Promise<readonly (LoggedFacts | null)[]> {
  const positions = await positionsOf(reader, certificates);
  const known = positions.filter((position) => position !== null);
  if (known.length === 0) return positions.map(() => null);
  const rows = await reader.query<Row[]>(
    `SELECT position, tbs_sha256 AS "tbsSha256", (
       SELECT min(revoked_at) FROM ct_revocation JOIN ct_crl ON ct_crl.id = ct_revocation.crl AND fresh_until > now()
       WHERE ct_revocation.issuer = issuance.issuer AND ct_revocation.serial = issuance.serial) AS "revokedAt"
     FROM ct_issuance AS issuance WHERE position = ANY ($1::bigint[])`,
    [[...new Set(known)]],
  );
  const facts = new Map(rows.map((row) => [row.position, row]));
  return certificates.map(({ tbsSha256 }, nth) => {
    const found = facts.get(positions[nth] ?? '');
    return found?.tbsSha256.equals(tbsSha256) === true ? { revokedAt: found.revokedAt } : null;
  });
}
