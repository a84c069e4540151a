import type { PageReader } from '../page-reader';
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
  reader: Pick<PageReader, 'query' | 'isSharded'>,
  certificates: readonly SoughtCertificate[],
): Promise<readonly (LoggedFacts | null)[]> {
  const positions = await positionsOf(reader, certificates);
  const known = positions.filter((position) => position !== null);
  if (known.length === 0) return positions.map(() => null);
  const rows = await factsAt(reader, [...new Set(known)]);
  const facts = new Map(rows.map((row) => [row.position, row]));
  return certificates.map(({ tbsSha256 }, nth) => {
    const found = facts.get(positions[nth] ?? '');
    return found?.tbsSha256.equals(tbsSha256) === true ? { revokedAt: found.revokedAt } : null;
  });
}

async function factsAt(
  reader: Pick<PageReader, 'query' | 'isSharded'>,
  positions: readonly string[],
): Promise<readonly Row[]> {
  if (!(await reader.isSharded()))
    return await reader.query(
      `SELECT position, tbs_sha256 AS "tbsSha256", (${revokedAt('issuance')}) AS "revokedAt"
       FROM ct_issuance AS issuance WHERE position = ANY ($1::bigint[])`,
      [positions],
    );
  const rows = await reader.query<(Omit<Row, 'revokedAt'> & { issuer: number; serial: Buffer })[]>(
    `SELECT position, tbs_sha256 AS "tbsSha256", issuer, serial FROM ct_issuance WHERE position = ANY ($1::bigint[])`,
    [positions],
  );
  const revocations = await reader.query<Pick<Row, 'revokedAt'>[]>(
    `SELECT (${revokedAt('given')}) AS "revokedAt"
     FROM unnest($1::int[], $2::bytea[]) WITH ORDINALITY AS given (issuer, serial, nth) ORDER BY nth`,
    [rows.map(({ issuer }) => issuer), rows.map(({ serial }) => serial)],
  );
  return rows.map((row, nth) => ({ ...row, revokedAt: revocations[nth]?.revokedAt ?? null }));
}

/** @param of a row with issuer and serial */
const revokedAt = (of: string) => `
  SELECT min(revoked_at) FROM ct_revocation JOIN ct_crl ON ct_crl.id = ct_revocation.crl AND fresh_until > now()
  WHERE ct_revocation.issuer = ${of}.issuer AND ct_revocation.serial = ${of}.serial`;
