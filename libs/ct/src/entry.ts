import { sha256 } from '@certwright/pki';
import { leafHash, sha256Length } from './merkle/hashes';
import { type Issued, readIssued } from './reading/read-issued';
import { TlsReader } from './tls-reader';

/**
 * Chain data of a submission in a log: certificates in `get-entries`, their SHA-256 digests in a
 * data tile.
 */
export interface EntryChain {
  readonly of: 'certificates' | 'fingerprints';
  /**
   * The content of the vector, with its format checked. It is not part of the Merkle tree: the log may put anything
   * there.
   */
  readonly bytes: Buffer;
}

interface EntryHead {
  /** Milliseconds since the epoch: time of the log's promise to include it. */
  readonly timestamp: number;
  /**
   * Bytes of the TimestampedEntry (RFC 6962, section 3.4): the input of the leaf hash except for two bytes.
   */
  readonly timestampedEntry: Buffer;
  /** From the `leaf_index` extension of static logs; null if absent. */
  readonly leafIndex: number | null;
  readonly chain: EntryChain;
}

export interface CertificateEntry extends EntryHead {
  readonly type: 'certificate';
  readonly certificateDer: Buffer;
}

export interface PrecertificateEntry extends EntryHead {
  readonly type: 'precertificate';
  /** SHA-256 over the SubjectPublicKeyInfo of the certificate's issuer. */
  readonly issuerKeyHash: Buffer;
  /** The TBSCertificate in the leaf, which is part of the tree. */
  readonly tbsDer: Buffer;
  /** As submitted. It is not part of the Merkle tree. */
  readonly precertificateDer: Buffer;
}

/** One entry of a log, from either interface. Buffers are views of the input. */
export type LogEntry = CertificateEntry | PrecertificateEntry;

/** Parses the part of an entry that is in the tree. */
export function readEntry(entry: LogEntry): Issued {
  return entry.type === 'certificate'
    ? readIssued(entry.certificateDer, 'certificate')
    : readIssued(entry.tbsDer, 'tbs');
}

/**
 * SHA-256 over 0x00 and the MerkleTreeLeaf: version v1 and type timestamped_entry, both zero, and the
 * TimestampedEntry.
 */
export function entryLeafHash(entry: LogEntry): Buffer {
  return leafHash(entry.timestampedEntry, merkleTreeLeafHead);
}

const merkleTreeLeafHead = Buffer.from([0, 0]);

/** SHA-256 over each certificate of the chain, the issuer's first. */
export function chainFingerprints({ chain }: LogEntry): Buffer[] {
  const reader = new TlsReader(chain.bytes);
  const fingerprints: Buffer[] = [];
  while (!reader.isAtEnd && !reader.failed) {
    fingerprints.push(chain.of === 'fingerprints' ? reader.opaque(sha256Length) : sha256(reader.vector(3)));
  }
  return fingerprints;
}

/** The certificates of the chain in DER, the issuer's first; empty if the log has only digests. */
export function chainCertificates({ chain }: LogEntry): Buffer[] {
  const certificates: Buffer[] = [];
  if (chain.of === 'fingerprints') return certificates;
  const reader = new TlsReader(chain.bytes);
  while (!reader.isAtEnd && !reader.failed) certificates.push(reader.vector(3));
  return certificates;
}

/** Whether these bytes are consecutive ASN.1Certs (RFC 6962, section 3.1). */
export function isCertificateChain(bytes: Buffer): boolean {
  const reader = new TlsReader(bytes);
  while (!reader.isAtEnd && !reader.failed) reader.vector(3, 1);
  return !reader.failed;
}
