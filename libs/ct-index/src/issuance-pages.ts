import type { Revocation } from './revocations/revocation-facts';
import { type IssuancePage, issuancesAt, issuancesBehind } from './issuances-at';
import type { PageReader } from './page-reader';
import { findPositions, type Reach } from './runs/find-positions';
import { endOfReading } from './visible-end';

export interface StoredIssuance {
  readonly position: string;
  /** SHA-256 of its TBSCertificate, certificate or precertificate, and SubjectPublicKeyInfo, one after the other. */
  readonly digests: Buffer;
  readonly precertificate: boolean;
  readonly issuer: number;
  /** The revocation list that the certificate names; null: none. */
  readonly crl: number | null;
  /** False: it could not be read. */
  readonly hasSerial: boolean;
  readonly serial: Buffer;
  /** Since 1970. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly discoveredAtMs: number;
  readonly dnsNames: readonly string[];
  /** Null: on no fresh list. `addRevocations` reads it again. */
  revocation: Revocation | null;
}

export interface PageRequest {
  /** Last position of the previous page; `0`: from the first. */
  readonly after: string;
  readonly limit: number;
}

/** How issuances are read. */
export interface ReadingOf<Issuance> {
  /** At some positions, ascending. */
  at(
    reader: PageReader,
    positions: readonly number[],
    partitions: ReadonlySet<number>,
  ): Promise<{ readonly issuances: readonly Issuance[]; readonly isCut: boolean }>;
  notAfterMs(issuance: Issuance): number;
}

const reading: ReadingOf<StoredIssuance> = {
  at: issuancesAt,
  notAfterMs: ({ notAfterMs }) => notAfterMs,
};

/**
 * The next unexpired issuances under any of the keys, in the order of discovery. Each key costs one descent per run of
 * postings after the cursor, regardless of its number of certificates, plus the rows of the page. Keys with the same first six
 * bytes match, too: the caller must check the names.
 *
 * @param keys a few at most: one per search mode
 */
export async function pageOfKeys(
  reader: PageReader,
  keys: readonly Buffer[],
  request: PageRequest,
): Promise<IssuancePage> {
  return await pageOfKeysBy(reading, reader, keys, request);
}

/**
 * The same, with other data of the issuances.
 *
 * @param upTo last position; absent: no limit
 */
export async function pageOfKeysBy<Issuance extends Pick<StoredIssuance, 'position'>>(
  read: ReadingOf<Issuance>,
  reader: PageReader,
  keys: readonly Buffer[],
  { after, limit, upTo = Infinity }: PageRequest & { readonly upTo?: number },
): Promise<{ readonly issuances: readonly Issuance[]; readonly isCut: boolean }> {
  const now = new Date();
  const end = Math.min(upTo + 1, await endOfReading(reader));
  const page: Issuance[] = [];
  let from = Number(after);
  let reach: Reach = { where: 'near', looked: 0 };
  while (page.length < limit && from < end - 1) {
    const positions: number[] = [];
    const partitions = new Set<number>();
    const wanted = limit - page.length;
    while (positions.length < wanted && from < end - 1) {
      const rest = wanted - positions.length;
      const found = await findPositions(reader, keys, { after: from, limit: rest, now, end }, reach);
      positions.push(...found.positions);
      for (const each of found.partitions) partitions.add(each);
      from = found.upTo;
      reach = { where: found.goesOn ? 'onward' : 'anywhere', looked: reach.looked + 1 };
    }
    if (positions.length === 0) break;
    const { issuances, isCut } = await read.at(reader, positions, partitions);
    // Some of them may have expired today.
    for (const each of issuances) if (read.notAfterMs(each) >= now.getTime()) page.push(each);
    if (isCut && page.length > 0) return { issuances: page, isCut };
    if (isCut) from = Number(issuances.at(-1)?.position);
  }
  return { issuances: page, isCut: false };
}

/**
 * The next issuances with any names, also expired ones, in the order of discovery.
 *
 * @param withNames false: `dnsNames` is empty
 */
export async function pageOfAll(
  reader: Pick<PageReader, 'query' | 'isSharded'>,
  request: PageRequest,
  withNames = true,
): Promise<IssuancePage> {
  return await issuancesBehind(reader, request, withNames);
}

/** Also an expired one, while it is kept. */
export async function issuanceAt(reader: PageReader, position: string): Promise<StoredIssuance | null> {
  const { issuances } = await issuancesAt(reader, [Number(position)], new Set());
  return issuances[0] ?? null;
}
