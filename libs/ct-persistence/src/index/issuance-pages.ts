import type { EntityManager } from 'typeorm';
import type { Revocation } from '../revocations/revocation-facts';
import { packIssuances } from './batched-statements';
import { type IssuancePage, unpackIssuances } from './packed-issuances';
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
  /** Null: on no list that is fresh. */
  readonly revocation: Revocation | null;
}

export interface PageRequest {
  /** Position of the last one of the page before; `0`: from the first. */
  readonly after: string;
  readonly limit: number;
}

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
  { after, limit }: PageRequest,
): Promise<IssuancePage> {
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
    if (positions.length === 0) break;
    const { issuances, isCut } = await packedBy(reader, packIssuances.one, [positions, false]);
    page.push(...issuances);
    if (isCut) return { issuances: page, isCut };
  }
  return { issuances: page, isCut: false };
}

/** The next issuances, whatever their names, expired ones too, in the order of discovery. */
export async function pageOfAll(
  reader: Pick<EntityManager, 'query'>,
  { after, limit }: PageRequest,
): Promise<IssuancePage> {
  return await packedBy(reader, behind, [after, limit]);
}

/** Also one that has expired, while it is kept. */
export async function issuanceAt(
  reader: Pick<EntityManager, 'query'>,
  position: string,
): Promise<StoredIssuance | null> {
  const { issuances } = await packedBy(reader, packIssuances.one, [[position], true]);
  return issuances[0] ?? null;
}

const behind = 'SELECT ct_pack_stream($1, $2) AS packed';

async function packedBy(
  reader: Pick<EntityManager, 'query'>,
  statement: string,
  values: unknown[],
): Promise<IssuancePage> {
  const [row] = await reader.query<{ packed: Buffer | null }[]>(statement, values);
  return unpackIssuances(row?.packed ?? null);
}
