import { DerCursor } from '../reading/der-cursor';
import { readTime } from '../reading/time';
import { sameName } from '../distinguished-name';
import type { Crl } from './read-crl';

export interface RevokedCertificate {
  /** Magnitude without leading zero bytes; with one zero byte before it when it is negative. Usually a view of the list. */
  readonly serial: Buffer;
  /** Milliseconds since the epoch. */
  readonly revokedAt: number;
  /** CRLReason (RFC 5280, section 5.3.1); 0 if absent. */
  readonly reason: number;
}

/** RFC 5280, section 5.3.1: removeFromCRL, the end of a certificate hold. */
const removeFromCrl = 8;

/** Max bytes of an entry; those of public CAs have fifty, in indirect lists two hundred. A longer one is not parsed. */
const maxEntryLength = 4 * 1_024;

/** Bytes of entries that are read at a time: some milliseconds, whatever their content. */
const pieceBytes = 256 * 1_024;

/** Indefinite length (X.690, section 8.1.3.6), which is invalid in DER. */
const indefinite = 0x80;

/** Longer ones identify nothing: certificates with them count as unreadable, too. */
const maxSerialLength = 64;

const tags = {
  integer: 0x02,
  octetString: 0x04,
  objectIdentifier: 0x06,
  enumerated: 0x0a,
  sequence: 0x30,
  directoryName: 0xa4,
} satisfies Record<string, number>;

/** 2.5.29.21 and .29, as one number. */
const known = { reason: 0x551d15, certificateIssuer: 0x551d1d } satisfies Record<string, number>;

/**
 * Iterates over the entries for certificates of the list's own issuer, without allocating objects for anything else. Entries
 * with removeFromCRL are skipped.
 */
export class RevokedCertificates implements Iterable<RevokedCertificate> {
  /** Number of unreadable entries so far: their certificates are unknown. */
  unreadable = 0;

  constructor(private readonly crl: Crl) {}

  *[Symbol.iterator](): Generator<RevokedCertificate> {
    for (const piece of this.pieces()) yield* piece;
  }

  /** Allows the caller to yield to other work in a long list. A piece may be empty. */
  *pieces(): Generator<RevokedCertificate[]> {
    const { bytes, revoked } = this.crl;
    if (revoked === null) return;
    const cursor = new DerCursor(bytes);
    const walk = new EntryWalk(this.crl, cursor);
    for (let at = revoked.start; at < revoked.end;) {
      const piece: RevokedCertificate[] = [];
      for (const from = at; at < revoked.end && at - from < pieceBytes;) {
        if (bytes[at + 1] === indefinite || !cursor.moveTo(at, revoked.end)) {
          this.unreadable += 1;
          at = revoked.end;
          break;
        }
        at = cursor.next;
        const serial = cursor.next - cursor.at > maxEntryLength ? null : walk.read();
        if (serial === null) this.unreadable += 1;
        else if (walk.isOwn && walk.reason !== removeFromCrl)
          piece.push({ serial, revokedAt: walk.revokedAt, reason: walk.reason });
      }
      yield piece;
    }
  }
}

/** The elements of the entry at the cursor, in order. */
class EntryWalk {
  revokedAt = 0;
  reason = 0;
  /** RFC 5280, section 5.3.3: the issuer of an entry is that of the previous entry, initially that of the list. */
  isOwn = true;

  constructor(
    private readonly crl: Crl,
    private readonly cursor: DerCursor,
  ) {}

  /** @returns its serial number; null when it, or the time, is unreadable */
  read(): Buffer | null {
    const { cursor } = this;
    const { bytes, start, end, tag } = cursor;
    if (tag !== tags.sequence) return null;
    if (!cursor.moveTo(start, end) || cursor.tag !== tags.integer) return null;
    const serial = serialBytes(bytes, cursor.start, cursor.end);
    const time = cursor.moveTo(cursor.next, end) ? readTime(bytes, cursor) : null;
    if (serial === null || time === null) return null;
    this.revokedAt = time.ms;
    this.reason = 0;
    if (cursor.next < end) this.readExtensions(cursor.next, end);
    return serial;
  }

  private readExtensions(from: number, limit: number): void {
    const { cursor } = this;
    if (!cursor.moveTo(from, limit) || cursor.tag !== tags.sequence) return;
    const { start, end } = cursor;
    for (let at = start; cursor.moveTo(at, end);) {
      at = cursor.next;
      this.readExtension(cursor.start, cursor.end);
    }
  }

  private readExtension(from: number, limit: number): void {
    const { cursor } = this;
    if (!cursor.moveTo(from, limit) || cursor.tag !== tags.objectIdentifier) return;
    if (cursor.end - cursor.start !== 3) return;
    const id = cursor.bytes.readUIntBE(cursor.start, 3);
    if (id !== known.reason && id !== known.certificateIssuer) return;
    // Past `critical`.
    while (cursor.moveTo(cursor.next, limit)) {
      if (cursor.tag !== tags.octetString) continue;
      const { start, end } = cursor;
      if (id === known.reason) this.reason = readReason(cursor, start, end);
      else if (this.crl.isIndirect) this.isOwn = isIssuer(cursor, start, end, this.crl.issuerDer);
      return;
    }
  }
}

function serialBytes(bytes: Buffer, start: number, end: number): Buffer | null {
  if (end === start || end - start > maxSerialLength) return null;
  if (((bytes[start] ?? 0) & 0x80) !== 0) return negative(bytes, start, end);
  let first = start;
  while (first < end - 1 && bytes[first] === 0) first++;
  return bytes.subarray(first, end);
}

/** Two's complement. */
function negative(bytes: Buffer, start: number, end: number): Buffer {
  const magnitude = (1n << BigInt((end - start) * 8)) - BigInt(`0x${bytes.toString('hex', start, end)}`);
  const digits = magnitude.toString(16);
  return Buffer.from(`00${digits.padStart(digits.length + (digits.length % 2), '0')}`, 'hex');
}

function readReason(cursor: DerCursor, start: number, end: number): number {
  if (!cursor.moveTo(start, end) || cursor.tag !== tags.enumerated) return 0;
  return cursor.end - cursor.start === 1 ? (cursor.bytes[cursor.start] ?? 0) & 0x7f : 0;
}

function isIssuer(cursor: DerCursor, start: number, end: number, issuerDer: Buffer): boolean {
  if (!cursor.moveTo(start, end) || cursor.tag !== tags.sequence) return false;
  const { start: first, end: last, bytes } = cursor;
  for (let at = first; cursor.moveTo(at, last);) {
    at = cursor.next;
    if (cursor.tag === tags.directoryName && sameName(bytes.subarray(cursor.start, cursor.end), issuerDer))
      return true;
  }
  return false;
}
