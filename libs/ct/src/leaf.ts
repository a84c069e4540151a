import { type EntryChain, isCertificateChain, type LogEntry } from './entry';
import { fromBase64 } from './bytes';
import { entryOf, readTimestampedEntry, type TimestampedEntry } from './timestamped-entry';
import { TlsReader } from './tls-reader';

/**
 * Why an entry cannot be read: its JSON or base64; its MerkleTreeLeaf is truncated, has trailing bytes or
 * no certificate; a version or type that RFC 6962 does not define; its extra_data.
 */
export type LeafFault = 'json' | 'leaf' | 'leaf_version' | 'entry_type' | 'extra_data';

export type LeafReading =
  { readonly ok: true; readonly entry: LogEntry } | { readonly ok: false; readonly fault: LeafFault };

/**
 * A MerkleTreeLeaf (RFC 6962, section 3.4) and the X509ChainEntry or PrecertChainEntry (section 4.6) that a
 * log returns with it. The content of the certificate is not checked here.
 */
export function readLeaf(leafInput: Uint8Array, extraData: Uint8Array): LeafReading {
  const leaf = readMerkleTreeLeaf(leafInput);
  if (typeof leaf === 'string') return faulty(leaf);
  const extra = new TlsReader(extraData);
  const precertificateDer = leaf.issuerKeyHash === null ? null : extra.vector(3, 1);
  const chain = extra.failed ? null : readChain(extra.bytes.subarray(extra.at));
  return chain === null ? faulty('extra_data') : { ok: true, entry: entryOf(leaf, precertificateDer, chain) };
}

export function readMerkleTreeLeaf(leafInput: Uint8Array): TimestampedEntry | LeafFault {
  const reader = new TlsReader(leafInput);
  if (reader.uint(1) !== 0 || reader.uint(1) !== 0) return 'leaf_version';
  const leaf = readTimestampedEntry(reader);
  if (leaf === null) return reader.failed ? 'leaf' : 'entry_type';
  return reader.failed || !reader.isAtEnd ? 'leaf' : leaf;
}

/** ASN.1Certs in a vector without trailing bytes (RFC 6962, section 3.1); null when it is anything else. */
export function readChain(vector: Buffer): EntryChain | null {
  const reader = new TlsReader(vector);
  const bytes = reader.vector(3);
  return reader.failed || !reader.isAtEnd || !isCertificateChain(bytes)
    ? null
    : { of: 'certificates', bytes };
}

/** One of the `entries` of a `get-entries` response (RFC 6962, section 4.6). */
export function readLeafJson(entry: unknown): LeafReading {
  if (typeof entry !== 'object' || entry === null) return faulty('json');
  const { leaf_input, extra_data } = entry as Record<string, unknown>;
  const leafInput = fromBase64(leaf_input);
  const extraData = fromBase64(extra_data);
  return leafInput === null || extraData === null ? faulty('json') : readLeaf(leafInput, extraData);
}

/** The entries of a `get-entries` response, in order; null when it is invalid. */
export function readEntriesResponse(response: unknown): LeafReading[] | null {
  if (typeof response !== 'object' || response === null) return null;
  const { entries } = response as Record<string, unknown>;
  return Array.isArray(entries) ? entries.map(readLeafJson) : null;
}

function faulty(fault: LeafFault): LeafReading {
  return { ok: false, fault };
}
