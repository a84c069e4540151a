import { emptyRoot, isHash, nodeHash, sha256Length } from './hashes';

/** Bytes of the size, before the hashes. */
const sizeBytes = 8;

/**
 * A Merkle tree that stores only the full subtrees along its right edge: as many hashes as its size has
 * one-bits, the largest subtree first. Leaves are appended in amortized constant time, and the root is available
 * at any size.
 */
export class CompactTree {
  private constructor(
    private leaves: number,
    private readonly subtrees: Buffer[],
  ) {}

  static empty(): CompactTree {
    return new CompactTree(0, []);
  }

  /**
   * `subtrees` are the hashes of the full subtrees, the largest first; null when their number does not match
   * the size.
   */
  static of(size: number, subtrees: readonly Uint8Array[]): CompactTree | null {
    if (!Number.isSafeInteger(size) || size < 0 || subtrees.length !== oneBits(size)) return null;
    if (!subtrees.every(isHash)) return null;
    return new CompactTree(
      size,
      subtrees.map((hash) => Buffer.from(hash)),
    );
  }

  /** Restores the result of `serialize`; null for anything else. */
  static restore(bytes: Uint8Array): CompactTree | null {
    if (bytes.length < sizeBytes) return null;
    const buffer = Buffer.from(bytes);
    const size = buffer.readBigUInt64BE(0);
    if (size > BigInt(Number.MAX_SAFE_INTEGER) || (buffer.length - sizeBytes) % sha256Length !== 0)
      return null;
    const subtrees: Buffer[] = [];
    for (let at = sizeBytes; at < buffer.length; at += sha256Length)
      subtrees.push(buffer.subarray(at, at + sha256Length));
    return CompactTree.of(Number(size), subtrees);
  }

  get size(): number {
    return this.leaves;
  }

  /** The hash is referenced, not copied. Throws for a value that is not a hash. */
  append(leafHash: Buffer): void {
    if (!isHash(leafHash)) throw new RangeError('a leaf hash has 32 bytes');
    let hash = leafHash;
    for (let full = this.leaves; full % 2 === 1; full = (full - 1) / 2) {
      const left = this.subtrees.pop();
      if (left !== undefined) hash = nodeHash(left, hash);
    }
    this.subtrees.push(hash);
    this.leaves++;
  }

  /** MTH of all leaves (RFC 6962, section 2.1). */
  root(): Buffer {
    const smallest = this.subtrees.at(-1);
    if (smallest === undefined) return emptyRoot;
    return this.subtrees.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), smallest);
  }

  /** The size as uint64 and the hashes; at most 1,704 bytes. */
  serialize(): Buffer {
    const size = Buffer.alloc(sizeBytes);
    size.writeBigUInt64BE(BigInt(this.leaves));
    return Buffer.concat([size, ...this.subtrees]);
  }
}

function oneBits(size: number): number {
  let count = 0;
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2;
  return count;
}
