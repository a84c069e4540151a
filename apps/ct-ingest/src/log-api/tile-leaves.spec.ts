import { readFileSync } from 'node:fs';
import path from 'node:path';
import { entryLeafHash, leafHash, readDataTile } from '@certwright/ct';
import { forgePair } from '../testing/forged-entries';
import { served } from '../testing/forged-tree';
import { EnoughEntries, EntryIsLong } from './streamed-entries';
import { TileLeaves } from './tile-leaves';

const tile = readFileSync(
  path.join(__dirname, '../../../../libs/ct/src/testing/data/navigli2025h2-001.tile'),
);
const whole = readDataTile(tile, { index: 1, width: 256 });
const hashes = whole.ok ? whole.entries.map((entry) => entryLeafHash(entry).toString('hex')) : [];

/** @returns leaf hashes of the tile in chunks of this many bytes */
function taken(size: number, options: Partial<ConstructorParameters<typeof TileLeaves>[0]> = {}): string[] {
  const leaves = new TileLeaves({
    first: 256,
    width: 256,
    from: 256,
    maxHeld: 1e9,
    maxEntry: 1e9,
    ...options,
  });
  try {
    for (let at = 0; at < tile.length; at += size) leaves.take(tile.subarray(at, at + size));
  } catch (error) {
    if (!(error instanceof EnoughEntries)) throw error;
  }
  return leaves.entries.map(({ leafHash }) => leafHash.toString('hex'));
}

it.each([1, 7, 1_000, 65_536, 1_000_000])(
  'reads a real tile in chunks of %i bytes like a single one',
  (size) => {
    expect(hashes).toHaveLength(256);
    expect(taken(size)).toEqual(hashes);
  },
);

it('keeps only the requested entries', () => {
  expect(taken(1_000, { from: 300 })).toEqual(hashes.slice(44));
  expect(taken(1_000, { width: 10 })).toEqual(hashes.slice(0, 10));
  const some = taken(1_000, { maxHeld: 40_000 });
  expect(some.length).toBeGreaterThan(5);
  expect(some).toEqual(hashes.slice(0, some.length));
});

it('rejects invalid data and other tiles', () => {
  expect(() => taken(1_000, { first: 512, from: 512 })).toThrow('not a valid TileLeaf');
  const leaves = new TileLeaves({ first: 0, width: 256, from: 0, maxHeld: 1e9, maxEntry: 1e9 });
  expect(() => leaves.take(Buffer.alloc(100, 0x1f))).toThrow('unknown type');
});

describe.each(['certificate', 'precertificate'] as const)('a huge %s', (kind) => {
  const submissions = [7, 8, 9].map((nth) => forgePair(nth, { padding: nth === 8 ? 1_500_000 : 0 })[kind]);
  const forged = submissions.map((submission, at) => served(submission, at, true));
  const bytes = Buffer.concat(forged.map(({ tileLeaf }) => tileLeaf));
  const bounds = { first: 0, width: 3, from: 0, maxHeld: 1e9 };
  const take = (leaves: TileLeaves, size: number) => () => {
    for (let at = 0; at < bytes.length; at += size) leaves.take(bytes.subarray(at, at + size));
  };

  it.each([11, 1_000, 65_536, 10_000_000])('is hashed as it arrives, in chunks of %i bytes', (size) => {
    const leaves = new TileLeaves({ ...bounds, maxEntry: Infinity });
    expect(take(leaves, size)).toThrow(EnoughEntries);
    expect(leaves.entries.map((entry) => entry.leafHash)).toEqual(forged.map(({ leaf }) => leafHash(leaf)));
    const { leaf } = forged[1] ?? { leaf: Buffer.alloc(0) };
    expect(leaves.entries[1]).toEqual({
      ...{ kind: 'odd', fault: 'huge', leafHash: leafHash(leaf), leafBytes: leaf.length },
      leaf: leaf.subarray(0, 65_536),
    });
    expect(leaves.bytes).toBeLessThan(100_000);
  });

  it('ends a page when entries are limited', () => {
    const leaves = new TileLeaves({ ...bounds, maxEntry: 200_000 });
    expect(take(leaves, 65_536)).toThrow(EntryIsLong);
    expect(leaves.entries).toHaveLength(1);
  });
});
