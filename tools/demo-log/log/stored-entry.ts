import { TlsReader } from '@certwright/ct';
import { sha256 } from './sha256';
import { uint, vector } from './tls';

/** A record is a certificate of a chain, or an entry whose chain precedes it. */
const kinds = { issuer: 1, entry: 2 } as const;

/** The signed and logged part of a submission: LogEntryType and signed_entry (RFC 6962, section 3.2). */
export interface SignedEntry {
  /** LogEntryType, and the certificate, or the issuer's key hash and the TBSCertificate. */
  readonly bytes: Buffer;
  /** As submitted; null for a certificate. */
  readonly precertificateDer: Buffer | null;
}

/** An entry in the file. */
export interface StoredEntry {
  /** TimestampedEntry (RFC 6962, section 3.4). */
  readonly timestampedEntry: Buffer;
  readonly precertificateDer: Buffer | null;
  /** SHA-256 over each certificate of the chain, the issuer's first, the root's last. */
  readonly fingerprints: Buffer;
  /** Of the SCT: a digitally-signed struct. */
  readonly signature: Buffer;
}

export type StoredRecord =
  { readonly kind: 'issuer'; readonly der: Buffer } | { readonly kind: 'entry'; readonly entry: StoredEntry };

export function encodeIssuer(der: Uint8Array): Buffer {
  return Buffer.concat([uint(kinds.issuer, 1), der]);
}

export function encodeEntry(entry: StoredEntry): Buffer {
  return Buffer.concat([
    uint(kinds.entry, 1),
    vector(3, entry.timestampedEntry),
    vector(3, entry.precertificateDer ?? Buffer.alloc(0)),
    vector(2, entry.fingerprints),
    vector(2, entry.signature),
  ]);
}

/** Views of the given bytes. Null for a record that this program does not write. */
export function decodeRecord(body: Buffer): StoredRecord | null {
  const reader = new TlsReader(body);
  const kind = reader.uint(1);
  if (kind === kinds.issuer) return { kind: 'issuer', der: body.subarray(1) };
  if (kind !== kinds.entry) return null;
  const timestampedEntry = reader.vector(3, 1);
  const precertificate = reader.vector(3);
  const fingerprints = reader.vector(2);
  const signature = reader.vector(2, 1);
  if (reader.failed || !reader.isAtEnd) return null;
  const precertificateDer = precertificate.length === 0 ? null : precertificate;
  return { kind: 'entry', entry: { timestampedEntry, precertificateDer, fingerprints, signature } };
}

/** The parts of a TimestampedEntry that were put together by `timestampedEntryOf`. */
export interface TimestampedParts {
  readonly timestamp: number;
  /** `SignedEntry.bytes`. */
  readonly signed: Buffer;
  readonly extensions: Buffer;
}

const timestampBytes = 8;
const precertificateType = 1;
const keyHashBytes = 32;

export function partsOf(timestampedEntry: Buffer): TimestampedParts {
  const reader = new TlsReader(timestampedEntry);
  const timestamp = reader.uint64();
  if (reader.uint(2) === precertificateType) reader.opaque(keyHashBytes);
  reader.vector(3);
  const signed = timestampedEntry.subarray(timestampBytes, reader.at);
  return { timestamp, signed, extensions: reader.vector(2) };
}

export function timestampedEntryOf({ timestamp, signed, extensions }: TimestampedParts): Buffer {
  return Buffer.concat([uint(timestamp, timestampBytes), signed, vector(2, extensions)]);
}

/** Version v1 and type timestamped_entry, or certificate_timestamp: the first bytes of signed and hashed data. */
const leafHead = Buffer.from([0, 0]);

/** MerkleTreeLeaf (section 3.4); an SCT signs the same bytes (section 3.2). */
export function merkleTreeLeaf({ timestampedEntry }: Pick<StoredEntry, 'timestampedEntry'>): Buffer {
  return Buffer.concat([leafHead, timestampedEntry]);
}

/** TileLeaf of a data tile (static-ct-api, "Log Entries"). */
export function tileLeaf({ timestampedEntry, precertificateDer, fingerprints }: StoredEntry): Buffer {
  const precertificate = precertificateDer === null ? [] : [vector(3, precertificateDer)];
  return Buffer.concat([timestampedEntry, ...precertificate, vector(2, fingerprints)]);
}

/** Identifies a repeated submission: by the certificate, or the TBSCertificate of a precertificate. */
export function identityOf(signed: Uint8Array): string {
  return sha256(signed).toString('latin1');
}
