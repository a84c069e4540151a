import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CompactTree,
  consistencyRanges,
  emptyRoot,
  type HashTile,
  hashOfRange,
  hashTilesOf,
  type InclusionProof,
  inclusionRanges,
  checkConsistency,
  leafHash,
  nodeHash,
  treeUpTo,
  verifyConsistency,
  verifyInclusion,
} from '../index';

const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

/**
 * RFC 6962, section 2.1, implemented literally for a range of leaves: the reference for the optimized
 * implementations.
 */
class Naive {
  private readonly known = new Map<string, Buffer>();

  constructor(private readonly leaves: readonly Buffer[]) {}

  root(end: number, start = 0): Buffer {
    const key = `${start}-${end}`;
    const root = this.known.get(key) ?? this.computed(start, end);
    this.known.set(key, root);
    return root;
  }

  path(m: number, end: number, start = 0): Buffer[] {
    if (end - start <= 1) return [];
    const k = start + split(end - start);
    return m < k
      ? [...this.path(m, k, start), this.root(end, k)]
      : [...this.path(m, end, k), this.root(k, start)];
  }

  proof(m: number, end: number, start = 0): Buffer[] {
    if (m === end) return start === 0 ? [] : [this.root(end, start)];
    const k = start + split(end - start);
    return m <= k
      ? [...this.proof(m, k, start), this.root(end, k)]
      : [...this.proof(m, end, k), this.root(k, start)];
  }

  private computed(start: number, end: number): Buffer {
    if (start === end) return sha256();
    if (end - start === 1) return this.leaves[start]!;
    const k = start + split(end - start);
    return sha256(Buffer.from([1]), this.root(k, start), this.root(end, k));
  }
}

/** The largest power of two below n. */
function split(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

const maxSize = 300;
const leaves = Array.from({ length: maxSize }, (_, i) => sha256(Buffer.from(`\0leaf ${i}`)));
const naive = new Naive(leaves);
const roots = Array.from({ length: maxSize + 1 }, (_, size) => naive.root(size));

function treeOf(size: number): CompactTree {
  const tree = CompactTree.empty();
  for (const leaf of leaves.slice(0, size)) tree.append(leaf);
  return tree;
}

/** The tiles that a log of this size serves, computed from the leaves. */
function tilesOf(tree: Naive, size: number) {
  return ({ level, index, width }: HashTile): Uint8Array | undefined => {
    const span = 256 ** level;
    if ((index * 256 + width) * span > size) return undefined;
    const places = Array.from({ length: width }, (_, i) => (index * 256 + i) * span);
    return Buffer.concat(places.map((start) => tree.root(start + span, start)));
  };
}

describe('shared test vectors of all implementations', () => {
  const inputs = [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '606162636465666768696a6b6c6d6e6f',
  ];
  const expected = [
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ];

  it('roots of none to eight leaves', () => {
    const tree = CompactTree.empty();
    const ours = [tree.root().toString('hex')];
    for (const input of inputs) {
      tree.append(leafHash(Buffer.from(input, 'hex')));
      ours.push(tree.root().toString('hex'));
    }
    expect(ours).toEqual(expected);
    expect(emptyRoot.toString('hex')).toBe(expected[0]);
  });

  it('leaves of any size are hashed whole', () => {
    for (const size of [1, 65_534, 65_535, 65_536, 1_000_000]) {
      const leaf = Buffer.alloc(size, 'leaf');
      expect(leafHash(leaf)).toEqual(sha256(Buffer.from([0]), leaf));
      expect(leafHash(leaf, Buffer.from([7, 8]))).toEqual(sha256(Buffer.from([0, 7, 8]), leaf));
    }
  });
});

describe('a compact tree', () => {
  it('has the root at every size', () => {
    const tree = CompactTree.empty();
    for (let size = 0; size <= maxSize; size++) {
      expect([tree.size, tree.root()]).toEqual([size, roots[size]]);
      if (size < maxSize) tree.append(leaves[size]!);
    }
  });

  it('can be serialized and continued at every size', () => {
    for (let size = 0; size <= maxSize; size++) {
      const kept = treeOf(size).serialize();
      expect(kept.length).toBe(8 + 32 * size.toString(2).replaceAll('0', '').length);
      const restored = CompactTree.restore(kept);
      expect(restored?.root()).toEqual(roots[size]);
      const next = leaves[size];
      if (next === undefined) continue;
      restored?.append(next);
      expect(restored?.root()).toEqual(roots[size + 1]);
    }
  });

  it('is restored from its serialized form only', () => {
    const kept = treeOf(7).serialize();
    const size = (value: bigint) => {
      const copy = Buffer.from(kept);
      copy.writeBigUInt64BE(value);
      return copy;
    };
    for (const wrong of [
      Buffer.alloc(0),
      kept.subarray(1),
      kept.subarray(0, -32),
      Buffer.concat([kept, kept]),
    ])
      expect(CompactTree.restore(wrong)).toBeNull();
    for (const wrong of [0n, 6n, 8n, 2n ** 53n, 2n ** 64n - 1n])
      expect(CompactTree.restore(size(wrong))).toBeNull();
    expect(CompactTree.restore(size(11n))?.size).toBe(11);
  });

  it('accepts only hashes', () => {
    const tree = treeOf(2);
    for (const length of [0, 31, 33]) expect(() => tree.append(Buffer.alloc(length))).toThrow(RangeError);
    expect(() => nodeHash(leaves[0]!, Buffer.alloc(31))).toThrow(RangeError);
    expect(tree.root()).toEqual(roots[2]);
  });

  it('counts beyond 2^32', () => {
    const size = 2 ** 40 + 3;
    const tree = CompactTree.of(size, leaves.slice(0, 3));
    tree?.append(leaves[3]!);
    expect(tree?.size).toBe(size + 1);
    const lastFour = nodeHash(leaves[1]!, nodeHash(leaves[2]!, leaves[3]!));
    expect(tree?.root()).toEqual(nodeHash(leaves[0]!, lastFour));
  });
});

describe('inclusion', () => {
  it('is proven for every leaf of every tree up to 300, and for no other position', () => {
    for (let size = 1; size <= maxSize; size++) {
      const root = roots[size]!;
      for (let index = 0; index < size; index += size < 40 ? 1 : 29) {
        const path = naive.path(index, size);
        const proof = { leafHash: leaves[index]!, index, treeSize: size, path };
        expect(verifyInclusion(proof, root)).toBe(true);
        expect(verifyInclusion({ ...proof, index: index + 1 }, root)).toBe(false);
        expect(verifyInclusion({ ...proof, treeSize: 2 * size }, root)).toBe(false);
        expect(verifyInclusion({ ...proof, leafHash: leaves[(index + 1) % maxSize]! }, root)).toBe(false);
        expect(verifyInclusion({ ...proof, path: [...path, root] }, root)).toBe(false);
        if (path.length > 0) expect(verifyInclusion({ ...proof, path: path.slice(1) }, root)).toBe(false);
        if (path.length > 1) expect(verifyInclusion({ ...proof, path: path.toReversed() }, root)).toBe(false);
      }
    }
  });

  it('is not proven in a smaller tree by a longer path', () => {
    const proof = { leafHash: leaves[1]!, path: [leaves[0]!] };
    expect(verifyInclusion({ ...proof, index: 1, treeSize: 2 }, roots[2]!)).toBe(true);
    expect(verifyInclusion({ ...proof, index: 0, treeSize: 1 }, roots[2]!)).toBe(false);
  });

  it.each<[string, Partial<InclusionProof>]>([
    ['a negative index', { index: -1 }],
    ['half an index', { index: 0.5 }],
    ['an index that is no number', { index: NaN }],
    ['an empty tree', { treeSize: 0 }],
    ['an endless tree', { treeSize: Infinity }],
    ['a tree beyond 2^53', { treeSize: 2 ** 53 }],
    ['a leaf hash of 31 bytes', { leafHash: Buffer.alloc(31) }],
    ['a hash of 33 bytes in the path', { path: [Buffer.alloc(33)] }],
    ['a path without end', { path: Array.from({ length: 10_000 }, () => Buffer.alloc(32)) }],
  ])('is not proven by %s', (_what, wrong) => {
    const proof = { leafHash: leaves[0]!, index: 0, treeSize: 2, path: [leaves[1]!] };
    expect(verifyInclusion(proof, roots[2]!)).toBe(true);
    expect(verifyInclusion({ ...proof, ...wrong }, roots[2]!)).toBe(false);
  });
});

describe('consistency', () => {
  it('is proven between all trees up to 300, and not with a hash changed, left out or added', () => {
    for (let to = 0; to <= maxSize; to++) {
      const newer = { size: to, root: roots[to]! };
      for (let from = 0; from <= to; from += to < 40 ? 1 : 29) {
        const older = { size: from, root: roots[from]! };
        const proof = from === 0 ? [] : naive.proof(from, to);
        expect([from, to, verifyConsistency(older, newer, proof)]).toEqual([from, to, true]);
        expect(verifyConsistency(older, newer, [...proof, leaves[0]!])).toBe(false);
        if (from === 0) continue;
        const other = { size: from, root: leaves[299]! };
        expect(verifyConsistency(other, newer, proof)).toBe(false);
        const isPowerOfTwo = Number.isInteger(Math.log2(from)) && from < to;
        expect(checkConsistency(other, newer, proof)).toBe(isPowerOfTwo ? 'unproven' : 'contradictory');
        if (from === to) continue;
        expect(checkConsistency(older, { size: to, root: leaves[299]! }, proof)).toBe('unproven');
        expect(verifyConsistency(older, { size: to, root: leaves[299]! }, proof)).toBe(false);
        expect(verifyConsistency(older, newer, proof.slice(1))).toBe(false);
        expect(verifyConsistency(older, newer, [...proof.slice(0, -1), leaves[299]!])).toBe(false);
        expect(verifyConsistency(newer, older, proof)).toBe(false);
      }
    }
  });

  it('is not proven between smaller trees by a longer proof', () => {
    const proof = naive.proof(7, 8);
    const [older, newer] = [roots[7]!, roots[8]!];
    expect(verifyConsistency({ size: 7, root: older }, { size: 8, root: newer }, proof)).toBe(true);
    expect(verifyConsistency({ size: 3, root: older }, { size: 4, root: newer }, proof)).toBe(false);
  });

  it('is not proven by an invalid proof', () => {
    const [older, newer] = [
      { size: 3, root: roots[3]! },
      { size: 7, root: roots[7]! },
    ];
    const proof = naive.proof(3, 7);
    expect(verifyConsistency(older, newer, proof)).toBe(true);
    expect(verifyConsistency(older, newer, [])).toBe(false);
    expect(verifyConsistency(older, newer, [Buffer.alloc(31), ...proof.slice(1)])).toBe(false);
    expect(verifyConsistency(older, newer, [...proof.slice(0, -1), Buffer.alloc(0)])).toBe(false);
    expect(verifyConsistency({ ...older, size: -1 }, newer, proof)).toBe(false);
    expect(verifyConsistency({ ...older, size: 2.5 }, newer, proof)).toBe(false);
    expect(verifyConsistency(older, { ...newer, size: NaN }, proof)).toBe(false);
    expect(verifyConsistency({ size: 0, root: roots[1]! }, newer, [])).toBe(false);
  });
});

describe('the hashes of a log that serves tiles', () => {
  it('make every path and every consistency proof', () => {
    for (const size of [1, 2, 3, 255, 256, 257, 299, 300]) {
      const readTile = tilesOf(naive, size);
      for (let m = 0; m < size; m += size < 40 ? 1 : 11) {
        const [path, proof] = [inclusionRanges(m, size), consistencyRanges(m, size)];
        const hash = (range: { start: number; end: number }) => hashOfRange(range, size, readTile);
        expect(path.map(hash)).toEqual(naive.path(m, size));
        expect(proof.map(hash)).toEqual(m === 0 ? [] : naive.proof(m, size));
        expect(hashTilesOf([...path, ...proof], size).map(readTile)).not.toContain(undefined);
      }
      expect(consistencyRanges(size, size)).toEqual([]);
    }
  });

  it('are requested as static-ct-api says for a tree of 70,000', () => {
    const tiles = hashTilesOf(
      [
        { start: 0, end: 65_536 },
        { start: 65_536, end: 70_000 },
      ],
      70_000,
    );
    expect(tiles).toEqual([
      { level: 2, index: 0, width: 1 },
      { level: 1, index: 1, width: 17 },
      { level: 0, index: 273, width: 112 },
    ]);
  });

  it('of a real log are one tree', () => {
    const data = (name: string) => readFileSync(join(__dirname, '../testing/data', name));
    const hashes = ['000', '001', '002', '003'].flatMap((name) => {
      const tile = data(`navigli2025h2-${name}.hashes`);
      return Array.from({ length: 256 }, (_, i) => tile.subarray(i * 32, i * 32 + 32));
    });
    const tree = CompactTree.empty();
    for (const hash of hashes) tree.append(hash);
    const slow = new Naive(hashes);
    expect(tree.root()).toEqual(slow.root(1024));
    const readTile = tilesOf(slow, 1024);
    const proof = consistencyRanges(778, 1024).map((range) => hashOfRange(range, 1024, readTile)!);
    const older = { size: 778, root: slow.root(778) };
    expect(verifyConsistency(older, { size: 1024, root: tree.root() }, proof)).toBe(true);
  });
});

it('the proof of the last leaf makes the compact tree, at every size', () => {
  for (let treeSize = 1; treeSize <= maxSize; treeSize++) {
    const path = naive.path(treeSize - 1, treeSize);
    const proof = { leafHash: leaves[treeSize - 1]!, treeSize, path };
    expect(treeUpTo(proof, roots[treeSize]!)?.serialize()).toEqual(treeOf(treeSize).serialize());
    expect(
      treeUpTo(
        proof,
        leaves[0]!.map((byte) => byte ^ 1),
      ),
    ).toBeNull();
  }
});
