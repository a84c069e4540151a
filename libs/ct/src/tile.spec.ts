import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { chainFingerprints, entryLeafHash, type LogEntry, readDataTile, tilePath } from './index';
import { hex } from './testing/forge';

const data = (name: string) => readFileSync(join(__dirname, 'testing/data', name));

function entriesOf(name: string, index: number, width: number): readonly LogEntry[] {
  const reading = readDataTile(data(name), { index, width });
  if (!reading.ok) throw new Error(`${reading.fault} at ${reading.entry}`);
  return reading.entries;
}

describe('a data tile', () => {
  it.each([
    ['000', 0, 256],
    ['001', 1, 256],
    ['003.p10', 3, 10],
  ])('%s has the hashes of its hash tile', (name, index, width) => {
    const hashes = data(`navigli2025h2-${name.slice(0, 3)}.hashes`);
    const entries = entriesOf(`navigli2025h2-${name}.tile`, index, width);
    const ours = Buffer.concat(entries.map(entryLeafHash));
    expect(ours).toEqual(hashes.subarray(0, ours.length));
    expect(entries.map(({ leafIndex }) => leafIndex)).toEqual(entries.map((_, place) => index * 256 + place));
  });

  it('has digests of the chain', () => {
    for (const entry of entriesOf('navigli2025h2-003.p10.tile', 3, 10)) {
      const chain = chainFingerprints(entry);
      expect(chain.length).toBeGreaterThan(0);
      expect(Buffer.concat(chain)).toEqual(entry.chain.bytes);
    }
  });

  const tile = data('navigli2025h2-003.p10.tile');
  const place = { index: 3, width: 10 };
  const second = () => {
    const [first] = entriesOf('navigli2025h2-003.p10.tile', 3, 10);
    if (first?.type !== 'precertificate') throw new Error('not a precertificate');
    return first.timestampedEntry.length + 3 + first.precertificateDer.length + 2 + first.chain.bytes.length;
  };
  const patched = (at: number, digits: string) => {
    const copy = Buffer.from(tile);
    hex(digits).copy(copy, at);
    return copy;
  };

  it.each<[string, () => Uint8Array, { index: number; width: number }, { fault: string; entry: number }]>([
    ['with fewer entries', () => tile, { index: 3, width: 11 }, { fault: 'width', entry: 10 }],
    ['with more entries', () => tile, { index: 3, width: 9 }, { fault: 'width', entry: 9 }],
    ['with nothing', () => Buffer.alloc(0), place, { fault: 'width', entry: 0 }],
    ['of another place', () => tile, { index: 4, width: 10 }, { fault: 'leaf_index', entry: 0 }],
    ['that is cut off', () => tile.subarray(0, -1), place, { fault: 'leaf', entry: 9 }],
    [
      'with a byte more',
      () => Buffer.concat([tile, hex('00')]),
      { index: 3, width: 11 },
      { fault: 'leaf', entry: 10 },
    ],
    [
      'with another type of entry',
      () => patched(second() + 8, '0102'),
      place,
      { fault: 'entry_type', entry: 1 },
    ],
  ])('%s is refused', (_what, make, where, expected) => {
    expect(readDataTile(make(), where)).toEqual({ ok: false, ...expected });
  });

  it('with part of a digest is refused', () => {
    const entry = Buffer.concat([Buffer.alloc(10), hex('00000130'), hex('0008'), hex('0000050000000300')]);
    expect(readDataTile(Buffer.concat([entry, hex('0000')]), { index: 3, width: 1 })).toMatchObject({
      ok: true,
    });
    expect(readDataTile(Buffer.concat([entry, hex('000101')]), { index: 3, width: 1 })).toMatchObject({
      fault: 'chain',
    });
  });

  it.each([
    ['no extension', ''],
    ['another extension', '010000'],
    ['two of them', '00000500000003000000050000000300'],
    ['one of four bytes', '00000400000300'],
    ['one that is cut off', '0000050000'],
  ])('with %s where leaf_index should be is refused', (_what, extensions) => {
    const length = Buffer.from([0, extensions.length / 2]);
    const entry = Buffer.concat([Buffer.alloc(10), hex('00000130'), length, hex(extensions), hex('0000')]);
    expect(readDataTile(entry, { index: 3, width: 1 })).toEqual({ ok: false, fault: 'leaf_index', entry: 0 });
  });

  it('with another extension beside leaf_index is read', () => {
    const extensions = '0100020102' + '0000050000000300';
    const length = Buffer.from([0, extensions.length / 2]);
    const entry = Buffer.concat([Buffer.alloc(10), hex('00000130'), length, hex(extensions), hex('0000')]);
    expect(readDataTile(entry, { index: 3, width: 1 })).toMatchObject({
      ok: true,
      entries: [{ leafIndex: 768 }],
    });
  });

  it('of any bytes is read or rejected', () => {
    for (let at = 0; at < tile.length; at += 3) readDataTile(patched(at, 'ff'), place);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void readDataTile(bytes, place)),
      { numRuns: 1000, seed: 6962 },
    );
  });
});

it.each([
  [0, 0, 256, 'tile/0/000'],
  [1, 17, 256, 'tile/1/017'],
  [0, 999, 3, 'tile/0/999.p/3'],
  [0, 1000, 256, 'tile/0/x001/000'],
  ['data', 1234067, 256, 'tile/data/x001/x234/067'],
  ['data', 1234067, 112, 'tile/data/x001/x234/067.p/112'],
  ['data', 4294967295, 1, 'tile/data/x004/x294/x967/295.p/1'],
] as const)('the tile of level %s, index %d and width %d is at %4$s', (level, index, width, path) =>
  expect(tilePath(level, { index, width })).toBe(path),
);
