import type { TlsReader } from './tls-reader';

/** LogEntryType (RFC 6962, section 3.1). */
const entryTypes = { x509: 0, precert: 1 } as const;

/** ExtensionType (static-ct-api, "SCT Extension"). */
const leafIndexExtension = 0;
const leafIndexOctets = 5;

export interface TimestampedEntry {
  readonly timestamp: number;
  readonly timestampedEntry: Buffer;
  readonly leafIndex: number | null;
  /** Null for a certificate. */
  readonly issuerKeyHash: Buffer | null;
  /** DER of the Certificate, or of the precertificate's TBSCertificate. */
  readonly der: Buffer;
}

/**
 * A TimestampedEntry (RFC 6962, section 3.4) where the reader stands; null for a type of entry that RFC 6962
 * does not have.
 */
export function readTimestampedEntry(reader: TlsReader): TimestampedEntry | null {
  const start = reader.at;
  const timestamp = reader.uint64();
  const type = reader.uint(2);
  if (type !== entryTypes.x509 && type !== entryTypes.precert) return null;
  const issuerKeyHash = type === entryTypes.precert ? reader.opaque(32) : null;
  const der = reader.vector(3, 1);
  const extensions = reader.vector(2);
  const timestampedEntry = reader.bytes.subarray(start, reader.at);
  return { timestamp, timestampedEntry, leafIndex: leafIndexOf(extensions), issuerKeyHash, der };
}

/**
 * Null when there is none, or two, or when these are not extensions as static-ct-api has them: RFC 6962
 * leaves them open.
 */
function leafIndexOf(extensions: Buffer): number | null {
  let found: number | null = null;
  for (let at = 0; at < extensions.length;) {
    if (at + 3 > extensions.length) return null;
    const length = extensions.readUInt16BE(at + 1);
    const end = at + 3 + length;
    if (end > extensions.length) return null;
    if (extensions[at] === leafIndexExtension) {
      if (found !== null || length !== leafIndexOctets) return null;
      found = extensions.readUIntBE(at + 3, leafIndexOctets);
    }
    at = end;
  }
  return found;
}
