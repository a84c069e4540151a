import type { Revocation } from './revocations/revocation-facts';
import type { StoredIssuance } from './issuance-pages';
import type { EntityManager } from 'typeorm';

/** Status of a serial number on fresh lists. @param of a row with issuer and serial */
const revocationsOf = (of: string) => `ARRAY (
  SELECT timestamptz_send(revoked_at) || int2send(reason) || timestamptz_send(checked_at)
  FROM ct_revocation JOIN ct_crl ON ct_crl.id = ct_revocation.crl AND fresh_until > now()
  WHERE ct_revocation.issuer = ${of}.issuer AND ct_revocation.serial = ${of}.serial)`;

/** Where the status is read: with the issuances, or, if those are on other servers, later by `addRevocations`. */
const revocations = { joined: revocationsOf('issuance'), later: `'{}'::bytea[]` };
export type RevocationsRead = keyof typeof revocations;

/**
 * An issuance in one value, as parsing twelve values takes longer than finding them; `unpackIssuances` reads it.
 *
 * @param names of type text[]; NULL: no value is returned
 */
const packedIssuance = (names: string, read: RevocationsRead) => `
  int8send(position) || tbs_sha256 || cert_sha256 || spki_sha256 || boolsend(precertificate)
    || int4send(issuance.issuer) || int4send(coalesce(crl, 0)) || timestamptz_send(not_before)
    || timestamptz_send(not_after) || timestamptz_send(discovered_at) || array_send(${revocations[read]})
    || int4send(octet_length(serial)) || serial || array_send(${names})`;

/**
 * Issuances of a FROM `issuance`, all in one value: as text, which is several times as fast to read as the driver's conversion of
 * bytea.
 *
 * @param names absent where it is NULL
 * @param order absent: unsorted
 */
export function packedIssuances(
  names: string,
  read: RevocationsRead,
  order: 'ORDER BY position' | '' = '',
): string {
  return `encode(string_agg(${packedIssuance(names, read)}, ''::bytea ${order}), 'base64')`;
}

export const hashBytes = 32;
const hashDigits = 2 * hashBytes;
/** 2000-01-01, the epoch of PostgreSQL timestamps, ms. */
const epochMs = 946_684_800_000;
/** Binary form of an array: number of dimensions; NULLs; type; and for the one dimension: length, lower bound. */
const arrayHead = { empty: 12, one: 20 };

/** Reads the result of `packedIssuances`. */
export function unpackIssuances(packed: string | null): readonly StoredIssuance[] {
  if (packed === null) return [];
  const reader = new PackedReader(Buffer.from(packed, 'base64'));
  const issuances: StoredIssuance[] = [];
  while (!reader.isDone) {
    const position = String(reader.bigint());
    // At once: three calls take longer.
    const digests = reader.hex(3 * hashBytes);
    issuances.push({
      position,
      tbsSha256: digests.slice(0, hashDigits),
      certSha256: digests.slice(hashDigits, 2 * hashDigits),
      spkiSha256: digests.slice(2 * hashDigits),
      precertificate: reader.boolean(),
      issuer: reader.integer(),
      crl: reader.integer() || null,
      notBefore: reader.timestamp(),
      notAfter: reader.timestamp(),
      discoveredAt: reader.timestamp(),
      revocation: earliest(reader.array((length) => reader.revocation(length))),
      serial: reader.bytes(reader.integer()),
      dnsNames: reader.array((length) => reader.text(length)),
    });
  }
  return issuances;
}

/** The status of issuances that were read without it: in one statement, where the lists are. */
export async function addRevocations(
  reader: Pick<EntityManager, 'query'>,
  issuances: readonly StoredIssuance[],
): Promise<readonly StoredIssuance[]> {
  if (issuances.length === 0) return issuances;
  const rows = await reader.query<{ packed: string }[]>(
    `SELECT encode(array_send(${revocationsOf('given')}), 'base64') AS packed
     FROM unnest($1::int[], $2::bytea[]) WITH ORDINALITY AS given (issuer, serial, nth) ORDER BY nth`,
    [issuances.map(({ issuer }) => issuer), issuances.map(({ serial }) => serial)],
  );
  return issuances.map((issuance, nth) => ({
    ...issuance,
    revocation: revocationIn(rows[nth]?.packed ?? ''),
  }));
}

function revocationIn(packed: string): Revocation | null {
  const reader = new PackedReader(Buffer.from(packed, 'base64'));
  return reader.isDone ? null : earliest(reader.array((length) => reader.revocation(length)));
}

function earliest(revocations: readonly Revocation[]): Revocation | null {
  let first: Revocation | null = null;
  for (const each of revocations) if (first === null || each.revokedAt < first.revokedAt) first = each;
  return first;
}

/** Reads values in the binary form of PostgreSQL. */
export class PackedReader {
  private at = 0;

  constructor(private readonly packed: Buffer) {}

  get isDone(): boolean {
    return this.at >= this.packed.length;
  }

  /** Max 53 bits. */
  bigint(): number {
    return this.integer() * 2 ** 32 + this.unsigned();
  }

  /** Microseconds, more than 53 bits for late years: divided in two halves. */
  timestamp(): Date {
    const upper = this.integer();
    const lower = this.unsigned();
    const upperMs = Math.floor(upper / 1_000);
    const restMs = Math.floor(((upper - upperMs * 1_000) * 2 ** 32 + lower) / 1_000);
    return new Date(epochMs + upperMs * 2 ** 32 + restMs);
  }

  integer(): number {
    this.at += 4;
    return this.packed.readInt32BE(this.at - 4);
  }

  boolean(): boolean {
    return this.packed[this.at++] === 1;
  }

  bytes(length: number): Buffer {
    this.at += length;
    return this.packed.subarray(this.at - length, this.at);
  }

  hex(length: number): string {
    this.at += length;
    return this.packed.toString('hex', this.at - length, this.at);
  }

  /** @param read reads one element of this many bytes */
  array<T>(read: (length: number) => T): T[] {
    const begin = this.at;
    const dimensions = this.integer();
    this.at = begin + arrayHead.empty;
    if (dimensions === 0) return [];
    const count = this.integer();
    this.at = begin + arrayHead.one;
    const elements: T[] = [];
    for (let nth = 0; nth < count; nth += 1) elements.push(read(this.integer()));
    return elements;
  }

  text(length: number): string {
    this.at += length;
    return this.packed.toString('utf8', this.at - length, this.at);
  }

  revocation(length: number): Revocation {
    const end = this.at + length;
    const revokedAt = this.timestamp();
    this.at += 2;
    const reason = this.packed.readInt16BE(this.at - 2);
    const checkedAt = this.timestamp();
    this.at = end;
    return { revokedAt, reason, checkedAt };
  }

  private unsigned(): number {
    this.at += 4;
    return this.packed.readUInt32BE(this.at - 4);
  }
}
