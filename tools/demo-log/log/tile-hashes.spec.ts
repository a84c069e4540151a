import { createHash } from 'node:crypto';
import { consistencyRanges, inclusionRanges, verifyConsistency, verifyInclusion } from '@certwright/ct';
import { TileHashes } from './tile-hashes';

const sha256 = (...parts: readonly Uint8Array[]) =>
  createHash('sha256').update(Buffer.concat(parts)).digest();
const leaf = (nth: number) => sha256(Buffer.of(0), Buffer.from(`leaf ${nth}`));

/** MTH by its definition (RFC 6962, section 2.1), sharing nothing with what is tested. */
function merkleTreeHash(start: number, end: number): Buffer {
  if (start === end) return sha256();
  if (end - start === 1) return leaf(start);
  const split = start + 2 ** Math.ceil(Math.log2(end - start) - 1);
  return sha256(Buffer.of(1), merkleTreeHash(start, split), merkleTreeHash(split, end));
}

function treeOf(size: number): TileHashes {
  const tree = new TileHashes();
  for (let nth = 0; nth < size; nth++) tree.append(leaf(nth));
  return tree;
}

const sizes = Array.from({ length: 71 }, (_, size) => size);

describe('the hashes of a tree', () => {
  it('have the root of every size up to 70, also after later appends', () => {
    const tree = treeOf(300);
    for (const size of sizes) expect([size, tree.root(size)]).toEqual([size, merkleTreeHash(0, size)]);
  });

  it('prove every leaf in every size up to 70', () => {
    const tree = treeOf(70);
    for (const treeSize of sizes) {
      const root = merkleTreeHash(0, treeSize);
      for (let index = 0; index < treeSize; index++) {
        const path = tree.hashesOf(inclusionRanges(index, treeSize), treeSize);
        const proven = verifyInclusion({ leafHash: leaf(index), index, treeSize, path }, root);
        if (!proven) throw new Error(`leaf ${index} in ${treeSize} is not proven`);
      }
    }
  });

  it('prove that every size up to 70 extends every smaller one', () => {
    const tree = treeOf(70);
    const roots = sizes.map((size) => merkleTreeHash(0, size));
    for (const to of sizes) {
      for (const from of sizes.slice(0, to + 1)) {
        const proof = tree.hashesOf(consistencyRanges(from, to), to);
        const [older, newer] = [roots[from] ?? Buffer.alloc(0), roots[to] ?? Buffer.alloc(0)];
        if (!verifyConsistency({ size: from, root: older }, { size: to, root: newer }, proof))
          throw new Error(`${from} to ${to} is not proven`);
      }
    }
  });

  it('are in tiles of all levels, full and partial ones', () => {
    const tree = treeOf(256 * 256 + 300);
    const range = (level: number, index: number) =>
      merkleTreeHash(index * 256 ** level, (index + 1) * 256 ** level);
    const hashAt = (level: number, index: number, width: number, nth: number) =>
      tree.tile({ level, index, width })?.subarray(nth * 32, nth * 32 + 32);
    expect(hashAt(0, 256, 256, 255)).toEqual(leaf(256 * 256 + 255));
    expect(hashAt(0, 257, 44, 43)).toEqual(leaf(256 * 256 + 299));
    expect(hashAt(1, 0, 256, 7)).toEqual(range(1, 7));
    expect(hashAt(1, 1, 1, 0)).toEqual(range(1, 256));
    expect(hashAt(2, 0, 1, 0)).toEqual(range(2, 0));
    expect(tree.tile({ level: 0, index: 257, width: 45 })).toBeUndefined();
    expect(tree.tile({ level: 1, index: 1, width: 2 })).toBeUndefined();
    expect(tree.tile({ level: 3, index: 0, width: 1 })).toBeUndefined();
    expect(tree.root(tree.size)).toEqual(merkleTreeHash(0, tree.size));
  });

  it('in slices do not change when more are added', () => {
    const tree = treeOf(256);
    const tile = tree.tile({ level: 0, index: 0, width: 256 });
    const before = Buffer.from(tile ?? []);
    for (let nth = 256; nth < 600; nth++) tree.append(leaf(nth));
    expect(tile).toEqual(before);
  });
});
