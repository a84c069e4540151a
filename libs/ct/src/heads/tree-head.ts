import { verify } from 'node:crypto';
import { isHash } from '../merkle/hashes';
import { fromBase64 } from '../bytes';
import { TlsReader } from '../tls-reader';
import type { LogKey } from './log-key';

/** The content of a tree head: size, root and time. */
export interface TreeHead {
  readonly treeSize: number;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly rootHash: Buffer;
}

/**
 * Why a tree head is rejected: it is not a `get-sth` response; its signature is not a valid
 * TreeHeadSignature, uses another algorithm than the log's key, or was made with another key.
 */
export type TreeHeadFault = 'json' | 'signature_form' | 'signature_algorithm' | 'signature';

export type TreeHeadReading =
  { readonly ok: true; readonly head: TreeHead } | { readonly ok: false; readonly fault: TreeHeadFault };

/** RFC 5246, section 7.4.1.4.1. */
const sha256Algorithm = 4;
const signatureAlgorithms = { rsa: 1, ecdsa: 3 } as const satisfies Record<LogKey['algorithm'], number>;

/** A `get-sth` response (RFC 6962, section 4.3) with its signature verified. */
export function readSignedTreeHead(response: unknown, key: LogKey): TreeHeadReading {
  if (typeof response !== 'object' || response === null) return { ok: false, fault: 'json' };
  const { tree_size, timestamp, sha256_root_hash, tree_head_signature } = response as Record<string, unknown>;
  const rootHash = fromBase64(sha256_root_hash);
  const signature = fromBase64(tree_head_signature);
  if (!isCount(tree_size) || !isTimestamp(timestamp)) return { ok: false, fault: 'json' };
  if (rootHash === null || !isHash(rootHash) || signature === null) return { ok: false, fault: 'json' };
  const head = { treeSize: tree_size, timestamp, rootHash };
  const fault = treeHeadSignatureFault(head, signature, key);
  return fault === null ? { ok: true, head } : { ok: false, fault };
}

/** Verifies a TreeHeadSignature, a digitally-signed struct (RFC 5246, section 4.7). Null when it is valid. */
export function treeHeadSignatureFault(
  head: TreeHead,
  signature: Uint8Array,
  key: LogKey,
): Exclude<TreeHeadFault, 'json'> | null {
  const reader = new TlsReader(signature);
  const [hashAlgorithm, signatureAlgorithm] = [reader.uint(1), reader.uint(1)];
  const value = reader.vector(2);
  if (reader.failed || !reader.isAtEnd) return 'signature_form';
  if (hashAlgorithm !== sha256Algorithm || signatureAlgorithm !== signatureAlgorithms[key.algorithm])
    return 'signature_algorithm';
  return verify('sha256', treeHeadSignatureInput(head), key.publicKey, value) ? null : 'signature';
}

/** Version v1 and type tree_hash, timestamp, size, root (RFC 6962, section 3.5). */
export function treeHeadSignatureInput({ treeSize, timestamp, rootHash }: TreeHead): Buffer {
  const input = Buffer.alloc(18);
  input.writeUInt8(0, 0);
  input.writeUInt8(1, 1);
  input.writeBigUInt64BE(BigInt(timestamp), 2);
  input.writeBigUInt64BE(BigInt(treeSize), 10);
  return Buffer.concat([input, rootHash]);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Max milliseconds of a Date (ECMA-262, section 21.4.1.1), which is less than the max safe integer. */
const maxTimestamp = 8_640_000_000_000_000;

export function isTimestamp(value: unknown): value is number {
  return isCount(value) && value <= maxTimestamp;
}
