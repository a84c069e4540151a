import type { EntityManager } from 'typeorm';

export interface StoredIssuance {
  readonly position: string;
  readonly tbsSha256: Buffer;
  readonly certSha256: Buffer;
  readonly precertificate: boolean;
  readonly spkiSha256: Buffer;
  readonly issuer: number;
  readonly serial: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly discoveredAt: Date;
  readonly dnsNames: readonly string[];
  /** Null unless it was asked for. */
  readonly body: Buffer | null;
}

export interface PageRequest {
  /** Position of the last one of the page before; `0`: from the first. */
  readonly after: string;
  readonly limit: number;
  readonly withBody: boolean;
}

const columns = (withBody: boolean) => `
  issuance.position, issuance.tbs_sha256 AS "tbsSha256", issuance.cert_sha256 AS "certSha256", issuance.precertificate,
  issuance.spki_sha256 AS "spkiSha256", issuance.issuer, issuance.serial, issuance.not_before AS "notBefore",
  issuance.not_after AS "notAfter", issuance.discovered_at AS "discoveredAt", issuance.dns_names AS "dnsNames",
  ${withBody ? 'issuance.body' : 'NULL::bytea'} AS body`;

/**
 * The next unexpired issuances under any of the keys, in the order of discovery. Every key costs one descent into its
 * index and reads no more than a page, however many certificates stand under it.
 *
 * @param keys at most a few: one per mode of the search
 */
export async function pageOfKeys(
  reader: Pick<EntityManager, 'query'>,
  keys: readonly Buffer[],
  { after, limit, withBody }: PageRequest,
): Promise<StoredIssuance[]> {
  const branches = keys.map(
    (_, at) => `(
      SELECT position FROM ct_name WHERE key = $${at + 3} AND position > $1 AND not_after >= now()
      ORDER BY position LIMIT $2)`,
  );
  return await reader.query(
    `SELECT ${columns(withBody)} FROM (
       SELECT position FROM (${branches.join(' UNION ')}) AS found ORDER BY position LIMIT $2) AS page
     JOIN ct_issuance AS issuance USING (position) ORDER BY position`,
    [after, limit, ...keys],
  );
}

/** The next issuances, whatever their names, in the order of discovery. */
export async function pageOfAll(
  reader: Pick<EntityManager, 'query'>,
  { after, limit, withBody }: PageRequest,
): Promise<StoredIssuance[]> {
  return await reader.query(
    `SELECT ${columns(withBody)} FROM ct_issuance AS issuance
     WHERE position > $1 ORDER BY position LIMIT $2`,
    [after, limit],
  );
}

export async function issuanceAt(
  reader: Pick<EntityManager, 'query'>,
  position: string,
): Promise<StoredIssuance | null> {
  const [row] = await reader.query<StoredIssuance[]>(
    `SELECT ${columns(true)} FROM ct_issuance AS issuance WHERE position = $1`,
    [position],
  );
  return row ?? null;
}
