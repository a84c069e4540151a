import type { EntityManager } from 'typeorm';

export interface IssuanceBody {
  readonly position: string;
  /** Digest of this body: a precertificate may have been replaced by its certificate since the issuance was read. */
  readonly certSha256: Buffer;
  readonly precertificate: boolean;
  readonly body: Buffer;
}

/**
 * The certificates of a page, ordered by position: as many as fit `maxBytes` together, as they are
 * stored, and at least the first one. One log entry may have 16 MB.
 */
export async function issuanceBodies(
  reader: Pick<EntityManager, 'query'>,
  positions: readonly string[],
  maxBytes: number,
): Promise<readonly IssuanceBody[]> {
  if (positions.length === 0) return [];
  // The lengths are stored outside of TOAST, and are read without the bodies.
  return await reader.query(
    `SELECT issuance.position, cert_sha256 AS "certSha256", precertificate, body FROM (
       SELECT position, sum(octet_length(body)) OVER (ORDER BY position) AS bytes, row_number() OVER (ORDER BY position) AS nth
       FROM ct_issuance WHERE position = ANY ($1::bigint[])) AS measured
     JOIN ct_issuance AS issuance USING (position)
     WHERE bytes <= $2 OR nth = 1 ORDER BY position`,
    [positions, maxBytes],
  );
}
