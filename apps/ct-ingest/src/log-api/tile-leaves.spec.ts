import { readFileSync } from 'node:fs';
import path from 'node:path';
import { entryLeafHash, readDataTile } from '@certwright/ct';
import { EnoughEntries } from './streamed-entries';
import { TileLeaves } from './tile-leaves';

const tile = readFileSync(
  path.join(__dirname, '../../../../libs/ct/src/testing/data/navigli2025h2-001.tile'),
);
const whole = readDataTile(tile, { index: 1, width: 256 });
const hashes = whole.ok ? whole.entries.map((entry) => entryLeafHash(entry).toString('hex')) : [];

/** @returns leaf hashes, as the tile comes in pieces of so many octets */
function taken(octets: number, options: Partial<ConstructorParameters<typeof TileLeaves>[0]> = {}): string[] {
  const leaves = new TileLeaves({
    first: 256,
    width: 256,
    from: 256,
    maxHeld: 1e9,
    maxEntry: 1e9,
    ...options,
  });
  try {
    for (let at = 0; at < tile.length; at += octets) leaves.take(tile.subarray(at, at + octets));
  } catch (error) {
    if (!(error instanceof EnoughEntries)) throw error;
  }
  return leaves.entries.map(({ leafHash }) => leafHash.toString('hex'));
}

it.each([1, 7, 1_000, 65_536, 1_000_000])(
  'a real tile that comes in pieces of %i octets is read as in one',
  (octets) => {
    expect(hashes).toHaveLength(256);
    expect(taken(octets)).toEqual(hashes);
  },
);

it('only what is wanted of it is held', () => {
  expect(taken(1_000, { from: 300 })).toEqual(hashes.slice(44));
  expect(taken(1_000, { width: 10 })).toEqual(hashes.slice(0, 10));
  const some = taken(1_000, { maxHeld: 20_000 });
  expect(some.length).toBeGreaterThan(5);
  expect(some).toEqual(hashes.slice(0, some.length));
});

it('what is no tile, or another one, is refused', () => {
  expect(() => taken(1_000, { first: 512, from: 512 })).toThrow('not in the form');
  const leaves = new TileLeaves({ first: 0, width: 256, from: 0, maxHeld: 1e9, maxEntry: 1e9 });
  expect(() => leaves.take(Buffer.alloc(100, 0x1f))).toThrow('not known');
});
