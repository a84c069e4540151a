import type { EntryChain, LogEntry } from './entry';
import type { TlsReader } from './tls-reader';

/** LogEntryType (RFC 6962, section 3.1). */
const entryTypes = { x509: 0, precert: 1 } as const;

/** ExtensionType (static-ct-api, "SCT Extension"). */
const leafIndexExtension = 0;
const leafIndexBytes = 5;

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
 * A TimestampedEntry (RFC 6962, section 3.4) at the reader's position; null for an entry type that RFC 6962
 * does not define.
 */
export function readTimestampedEntry(reader: TlsReader): TimestampedEntry | null {
  const start = reader.at;
  const timestamp = reader.uint64();
  const type = reader.uint(2);
  if (type !== entryTypes.x509 && type !== entryTypes.precert) return null;
  const issuerKeyHash = type === entryTypes.precert ? reader.opaque(32) : null;
  const der = reader.vector(3, 1);
  const extensionsEnd = reader.vectorEnd(2);
  const leafIndex = leafIndexOf(reader.bytes, reader.at, extensionsEnd);
  reader.at = extensionsEnd;
  const timestampedEntry = reader.bytes.subarray(start, extensionsEnd);
  return { timestamp, timestampedEntry, leafIndex, issuerKeyHash, der };
}

/** @param precertificateDer null for a certificate */
export function entryOf(
  { timestamp, timestampedEntry, leafIndex, issuerKeyHash, der }: TimestampedEntry,
  precertificateDer: Buffer | null,
  chain: EntryChain,
): LogEntry {
  if (issuerKeyHash === null || precertificateDer === null)
    return { type: 'certificate', certificateDer: der, timestamp, timestampedEntry, leafIndex, chain };
  return {
    type: 'precertificate',
    issuerKeyHash,
    tbsDer: der,
    precertificateDer,
    timestamp,
    timestampedEntry,
    leafIndex,
    chain,
  };
}

/**
 * Null when it is absent or duplicate, or when the extensions are not in the format of static-ct-api: RFC 6962
 * does not define one.
 */
function leafIndexOf(bytes: Buffer, start: number, end: number): number | null {
  let found: number | null = null;
  for (let at = start; at < end;) {
    if (at + 3 > end) return null;
    const length = bytes.readUInt16BE(at + 1);
    const next = at + 3 + length;
    if (next > end) return null;
    if (bytes[at] === leafIndexExtension) {
      if (found !== null || length !== leafIndexBytes) return null;
      found = bytes.readUIntBE(at + 3, leafIndexBytes);
    }
    at = next;
  }
  return found;
}
