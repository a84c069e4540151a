import { CompactTree } from './compact-tree';
import { emptyRoot, isHash, nodeHash } from './hashes';

export interface InclusionProof {
  readonly leafHash: Uint8Array;
  readonly index: number;
  readonly treeSize: number;
  /** From the leaf's sibling upwards (RFC 6962, section 2.1.1). */
  readonly path: readonly Uint8Array[];
}

/** Sizes and indices are exact up to 2^53; bitwise operators are limited to 2^32. */
const half = (number: number) => Math.floor(number / 2);

function isIndex(index: number, size: number): boolean {
  return Number.isSafeInteger(size) && Number.isSafeInteger(index) && index >= 0 && index < size;
}

/** RFC 9162, section 2.1.3.2. */
export function verifyInclusion(proof: InclusionProof, root: Uint8Array): boolean {
  const computed = rootOfInclusion(proof);
  return computed !== null && Buffer.compare(computed, root) === 0;
}

/** The root computed from the path; null when its length does not fit. */
function rootOfInclusion({ leafHash, index, treeSize, path }: InclusionProof): Buffer | null {
  if (!isIndex(index, treeSize) || !isHash(leafHash) || !path.every(isHash)) return null;
  let [fn, sn] = [index, treeSize - 1];
  let hash: Buffer = Buffer.from(leafHash);
  for (const sibling of path) {
    if (sn === 0) return null;
    if (fn % 2 === 1 || fn === sn) {
      hash = nodeHash(sibling, hash);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else hash = nodeHash(hash, sibling);
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 ? hash : null;
}

export interface TreeState {
  readonly size: number;
  readonly root: Uint8Array;
}

/**
 * `consistent`: `from` is a prefix of `to`. `contradictory`: the proof leads to the root of `to`, and that tree has another root at the
 * size of `from`, which is only possible for two different trees. `unproven`: the proof leads to another root and shows nothing; also
 * for contradictory trees if the size of `from` is a power of two, as the proof then assumes its root.
 */
export type ConsistencyVerdict = 'consistent' | 'contradictory' | 'unproven';

/** RFC 9162, section 2.1.4.2; in addition, a tree is consistent with the empty one and with itself by an empty proof. */
export function checkConsistency(
  from: TreeState,
  to: TreeState,
  proof: readonly Uint8Array[],
): ConsistencyVerdict {
  const roots = rootsOfConsistency(from, to, proof);
  if (roots === null || Buffer.compare(roots.newer, to.root) !== 0) return 'unproven';
  return Buffer.compare(roots.older, from.root) === 0 ? 'consistent' : 'contradictory';
}

export function verifyConsistency(from: TreeState, to: TreeState, proof: readonly Uint8Array[]): boolean {
  return checkConsistency(from, to, proof) === 'consistent';
}

/** The roots at both sizes, computed from the proof; null when it does not fit them. */
function rootsOfConsistency(
  from: TreeState,
  to: TreeState,
  proof: readonly Uint8Array[],
): { readonly older: Uint8Array; readonly newer: Uint8Array } | null {
  if (!isIndex(from.size, to.size + 1)) return null;
  if (from.size === 0) return proof.length === 0 ? { older: emptyRoot, newer: to.root } : null;
  if (from.size === to.size) return proof.length === 0 ? { older: to.root, newer: to.root } : null;
  let [fn, sn] = [from.size - 1, to.size - 1];
  while (fn % 2 === 1) [fn, sn] = [half(fn), half(sn)];
  // A tree of a power of two is a full subtree of the larger one: the proof omits its hash.
  const [first, ...rest] = fn === 0 ? [from.root, ...proof] : proof;
  if (first === undefined || !isHash(first) || !rest.every(isHash)) return null;
  let [older, newer]: [Buffer, Buffer] = [Buffer.from(first), Buffer.from(first)];
  for (const sibling of rest) {
    if (sn === 0) return null;
    if (fn % 2 === 1 || fn === sn) {
      older = nodeHash(sibling, older);
      newer = nodeHash(sibling, newer);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else newer = nodeHash(newer, sibling);
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 ? { older, newer } : null;
}

/**
 * The compact tree whose last leaf is this one: used by a monitor that starts in the middle of a
 * log without tiles, which proves its last entry by `get-entry-and-proof`. Null when the proof does not lead
 * to the root.
 */
export function treeUpTo(proof: Omit<InclusionProof, 'index'>, root: Uint8Array): CompactTree | null {
  const whole = { ...proof, index: proof.treeSize - 1 };
  if (!verifyInclusion(whole, root)) return null;
  let hash: Buffer = Buffer.from(proof.leafHash);
  let next = 0;
  // Siblings within the last full subtree come first; then one hash for each larger full subtree.
  for (let edge = whole.index; edge % 2 === 1; edge = half(edge)) {
    const sibling = proof.path[next++];
    if (sibling !== undefined) hash = nodeHash(sibling, hash);
  }
  return CompactTree.of(proof.treeSize, [...proof.path.slice(next).reverse(), hash]);
}
