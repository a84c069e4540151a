import { sha256 } from '@certwright/pki';

/** Bytes of a SHA-256. */
export const sha256Length = 32;

/** MTH of no leaves (RFC 6962, section 2.1): SHA-256 of the empty string. */
export const emptyRoot: Buffer = sha256(Buffer.alloc(0));

/**
 * Shared buffer for preimages: there is no await between filling and hashing.
 * Larger than nearly any entry; longer ones get a separate buffer.
 */
const scratch = Buffer.alloc(64 * 1024);

/** SHA-256 over 0x00 and the leaf, which may have two parts, the first of a few bytes. */
export function leafHash(leaf: Uint8Array, head?: Uint8Array): Buffer {
  const start = 1 + (head?.length ?? 0);
  const length = start + leaf.length;
  const preimage = length > scratch.length ? Buffer.alloc(length) : scratch;
  preimage[0] = 0x00;
  if (head !== undefined) preimage.set(head, 1);
  preimage.set(leaf, start);
  return sha256(preimage.subarray(0, length));
}

export function isHash(bytes: Uint8Array): boolean {
  return bytes.length === sha256Length;
}

const nodePreimage = Buffer.alloc(1 + 2 * sha256Length, 0x01);

/** SHA-256 over 0x01 and the two hashes; throws for a value that is not a hash. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  if (!isHash(left) || !isHash(right)) throw new RangeError('a hash of a Merkle tree has 32 bytes');
  nodePreimage.set(left, 1);
  nodePreimage.set(right, 1 + sha256Length);
  return sha256(nodePreimage);
}
