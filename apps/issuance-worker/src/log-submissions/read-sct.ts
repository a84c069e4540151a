import type { LogPromise } from './log-submissions';
import { decodeBase64 } from '@certwright/pki';

/** v1 (RFC 6962, section 3.2). */
const version = 0;

const logIdBytes = 32;
const maxExtensionsLength = 0xffff;
/** Two bytes of algorithms, two of length, and RSA of 16,384 bits. */
const maxSignatureLength = 4 + 2_048;
const algorithmBytes = 2;

/**
 * The response to `add-chain` (section 4.1) as an SCT. Its signature is not verified: a log is identified here by its
 * URL alone, and the promise is only used to stop submitting.
 *
 * @returns null when it is not such a response
 */
export function readSct(body: Buffer): LogPromise | null {
  const { sct_version, id, timestamp, extensions, signature } = membersOf(body);
  const logId = bytesOf(id, logIdBytes);
  const extra = extensions === '' ? Buffer.alloc(0) : bytesOf(extensions, maxExtensionsLength);
  const signed = bytesOf(signature, maxSignatureLength);
  if (sct_version !== version || logId?.length !== logIdBytes || !isTime(timestamp)) return null;
  if (extra === null || signed === null || !isDigitallySigned(signed)) return null;
  const sct = Buffer.concat([
    Buffer.of(version),
    logId,
    uint64(timestamp),
    uint16(extra.length),
    extra,
    signed,
  ]);
  return { sct, loggedAt: new Date(timestamp) };
}

function membersOf(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function bytesOf(value: unknown, maxBytes: number): Buffer | null {
  const decoded = typeof value === 'string' ? decodeBase64(value, maxBytes) : null;
  return decoded?.ok === true ? Buffer.from(decoded.bytes) : null;
}

/** Times that both JavaScript and PostgreSQL accept: until the year 9999. */
function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < Date.UTC(10_000, 0);
}

/** Algorithms and a vector with a correct length (RFC 5246, section 4.7). */
function isDigitallySigned(bytes: Buffer): boolean {
  const head = algorithmBytes + 2;
  return bytes.length > head && bytes.readUInt16BE(algorithmBytes) === bytes.length - head;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}
