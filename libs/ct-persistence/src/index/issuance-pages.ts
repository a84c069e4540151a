import type { EntityManager } from 'typeorm';
import { unpackIssuances } from './packed-issuances';
import { findPositions, type Reach } from './runs/find-positions';

export interface StoredIssuance {
  readonly position: string;
  readonly tbsSha256: Buffer;
  readonly certSha256: Buffer;
  readonly precertificate: boolean;
  readonly spkiSha256: Buffer;
  readonly issuer: number;
  /** The revocation list that the certificate names; null: none. */
  readonly crl: number | null;
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
  issuance.spki_sha256 AS "spkiSha256", issuance.issuer, issuance.crl, issuance.serial, issuance.not_before AS "notBefore",
  issuance.not_after AS "notAfter", issuance.discovered_at AS "discoveredAt", issuance.dns_names AS "dnsNames",
  ${withBody ? 'issuance.body' : 'NULL::bytea'} AS body`;

/** What the first statement of a page looks at: all there is to see for nearly every key. */
const first: Reach = { runs: 64, following: 1 };

/** After one that did not suffice: a key goes on and on that has expired, or there are many runs. */
const next: Reach = { runs: 64, following: 16 };

/**
 * The next unexpired issuances under any of the keys, in the order of discovery. Every key costs one descent for each run of
 * postings behind the cursor, however many certificates stand under it, and the rows of the page. What shares six octets of
 * its key is among them: names are to be checked again.
 *
 * @param keys at most a few: one per mode of the search
 */
export async function pageOfKeys(
  reader: Pick<EntityManager, 'query'>,
  keys: readonly Buffer[],
  { after, limit, withBody }: PageRequest,
): Promise<StoredIssuance[]> {
  const now = new Date();
  const page: StoredIssuance[] = [];
  let from = Number(after);
  let reach = first;
  while (page.length < limit && from < Infinity) {
    const positions: number[] = [];
    const wanted = limit - page.length;
    while (positions.length < wanted && from < Infinity) {
      const rest = wanted - positions.length;
      const found = await findPositions(reader, keys, { after: from, limit: rest, now }, reach);
      positions.push(...found.positions);
      from = found.upTo;
      reach = next;
    }
    // Some of them may have expired today.
    if (positions.length > 0) page.push(...(await livingAt(reader, positions, withBody)));
  }
  return page;
}

/** Those of the positions that have not expired, in order. */
async function livingAt(
  reader: Pick<EntityManager, 'query'>,
  positions: readonly number[],
  withBody: boolean,
): Promise<readonly StoredIssuance[]> {
  if (!withBody) {
    const [row] = await reader.query<{ packed: Buffer | null }[]>(`SELECT ct_pack_issuances($1) AS packed`, [
      positions,
    ]);
    return unpackIssuances(row?.packed ?? Buffer.alloc(0));
  }
  return await reader.query(
    `SELECT ${columns(withBody)} FROM ct_issuance AS issuance
     WHERE position = ANY ($1::bigint[]) AND not_after >= now() ORDER BY position`,
    [positions],
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
