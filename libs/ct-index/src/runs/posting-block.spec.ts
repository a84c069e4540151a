import { BlockReader } from '@certwright/posting-index';
import { BlockWriter } from '@certwright/posting-index';
import { blockBytes, type PostingBlock } from '@certwright/posting-index';
import { expiryDay, keyNumber, keySpace, shardOf } from '@certwright/posting-index';
import { setImmediate } from 'node:timers/promises';
import { SortedPostings } from './sorted-postings';

type Posting = readonly [key: number, position: number, day: number];

function write(postings: readonly Posting[], from: number): PostingBlock[] {
  const blocks: PostingBlock[] = [];
  const writer = new BlockWriter(from, (block) => blocks.push(block));
  for (const posting of postings) writer.add(...posting);
  writer.flush();
  return blocks;
}

function read(blocks: readonly PostingBlock[]): (readonly [...Posting, boolean])[] {
  return blocks.flatMap(({ bytes }) => {
    const reader = new BlockReader(bytes);
    const found: [...Posting, boolean][] = [];
    while (reader.next()) found.push([reader.key, reader.position, reader.day, reader.goesOn]);
    return found;
  });
}

const lengths = {
  from: 2 ** 40,
  keys: [0, 1, 127, 2 ** 27, 2 ** 28, 2 ** 28 + 1, 2 ** 35, 2 ** 47, keySpace - 1],
};
const postings: Posting[] = lengths.keys.flatMap((key, nth) =>
  Array.from({ length: nth === 4 ? 3_000 : 1 + nth * 40 }, (_, at): Posting => {
    const position = lengths.from + at * (nth === 8 ? 2 ** 33 : 1 + nth);
    return [key, position, (at * 7 + nth) % 11 === 0 ? 2_932_897 : 20_000 + (at % 4)];
  }),
);

describe('blocks', () => {
  it('say what was written, and whether a key goes on, over their borders too', () => {
    const blocks = write(postings, lengths.from);
    expect(blocks.length).toBeGreaterThan(5);
    const expected = postings.map((each, nth) => [...each, postings[nth + 1]?.[0] === each[0]]);
    expect(read(blocks)).toEqual(expected);
  });

  it('are full if keys have few postings, and never longer than eight to a page', () => {
    const few = Array.from({ length: 5_000 }, (_, nth): Posting => [nth >> 1, nth + 1, 20_000 + (nth % 90)]);
    const bytes = write(few, 0).map((block) => block.bytes.length);
    expect(Math.min(...bytes.slice(0, -1))).toBeGreaterThan(blockBytes - 40);
    const all = [...bytes, ...write(postings, lengths.from).map((block) => block.bytes.length)];
    expect(Math.max(...all)).toBeLessThanOrEqual(blockBytes);
  });

  it('have a key as a whole, or begin with it and are full', () => {
    for (const spread of [1, 100, 1_000_000]) {
      const several = Array.from({ length: 300 }, (_, key) =>
        Array.from({ length: 1 + ((key * 7_919) % 500) }, (_, nth): Posting => {
          const position = nth * spread + 1;
          return [key, position, nth % 13 === 0 ? 2_932_897 : 20_000 + ((key + nth) % 5)];
        }),
      ).flat();
      const blocks = write(several, 0);
      expect(read(blocks).map((each) => each.slice(0, 3))).toEqual(several);
      const keysOf = new Map(blocks.map((block) => [block, new Set(read([block]).map(([key]) => key))]));
      for (let key = 0; key < 300; key += 1) {
        const those = blocks.filter((block) => keysOf.get(block)?.has(key));
        if (those.length > 1) expect(those[0]).toMatchObject({ firstKey: key, firstPosition: 0 });
        for (const { bytes } of those.slice(0, -1)) expect(bytes.length).toBeGreaterThan(blockBytes - 40);
      }
      expect(Math.max(...blocks.map(({ bytes }) => bytes.length))).toBeLessThanOrEqual(blockBytes);
    }
  });

  it('have a filter that lets all of their keys through, and one of eight others', () => {
    const passes = ({ bytes }: PostingBlock, key: number) => {
      const bit = key % (8 * bytes.readUInt16BE(0));
      return ((bytes[2 + (bit >>> 3)] ?? 0) & (1 << (bit & 7))) > 0;
    };
    const spread = Array.from({ length: 2_000 }, (_, nth) =>
      Math.floor((nth + 0.5) * (keySpace / 2_000) + nth * 7_919),
    );
    const blocks = write(
      spread.map((key, nth): Posting => [key, nth + 1, 20_000]),
      0,
    );
    for (const block of blocks) for (const [key] of read([block])) expect(passes(block, key)).toBe(true);
    const others = blocks.flatMap((block) => spread.map((key) => passes(block, key + 1)));
    const share = others.filter(Boolean).length / others.length;
    expect(share).toBeGreaterThan(0.02);
    expect(share).toBeLessThan(0.2);
  });

  it('begin at position 0 of their first key, unless the block before has some of it', () => {
    const blocks = write(postings, lengths.from);
    const lastKeys = blocks.map((block) => read([block]).at(-1)?.[0]);
    blocks.forEach(({ firstKey, firstPosition, bytes }, nth) => {
      const reader = new BlockReader(bytes);
      reader.next();
      expect(reader.key).toBe(firstKey);
      expect(firstPosition).toBe(lastKeys[nth - 1] === firstKey ? reader.position : 0);
    });
  });

  it('are passed over up to a key as they are read', () => {
    const blocks = write(postings, lengths.from);
    for (const wanted of [...lengths.keys, 5, 2 ** 46]) {
      const found = blocks.flatMap(({ bytes }) => {
        const reader = new BlockReader(bytes);
        const all: Posting[] = [];
        if (reader.skipTo(wanted))
          while (reader.next() && reader.key === wanted) all.push([wanted, reader.position, reader.day]);
        return all;
      });
      expect(found).toEqual(postings.filter(([key]) => key === wanted));
    }
  });

  it('that are none, or end too early, are refused; no bytes are read for ever', () => {
    const [block] = write(postings, lengths.from);
    const bytes = block?.bytes ?? Buffer.alloc(0);
    for (let length = 0; length < 200; length += 1) {
      const cut = () => read([{ firstKey: 0, firstPosition: 0, bytes: bytes.subarray(0, length) }]);
      try {
        expect(cut().length).toBeLessThan(length);
      } catch (error) {
        expect(error).toHaveProperty('name', 'RangeError');
      }
    }
    const endless = { firstKey: 0, firstPosition: 0, bytes: Buffer.alloc(40, 255) };
    expect(() => read([endless])).toThrow(RangeError);
  });
});

it('an expiry is never taken for an earlier one', () => {
  const day = 86_400_000;
  expect(expiryDay(new Date(5 * day))).toBe(5);
  expect(expiryDay(new Date(5 * day + 1))).toBe(6);
  expect(expiryDay(new Date('0001-01-01'))).toBe(0);
  expect(expiryDay(new Date('9999-12-31T23:59:59Z'))).toBe(2_932_897);
});

it('postings are sorted by key and position, those without a position left out, two keys that agree once', async () => {
  const notAfter = new Date(0);
  const sorted = await SortedPostings.of([
    { nameKeys: ['ffffffffffff0000', '0000000000010000'], notAfter },
    { nameKeys: ['000000000001aaaa'], notAfter },
    { nameKeys: ['0000000000010001', '0000000000010002', '7fff000000000000'], notAfter },
  ]);
  const found: number[][] = [];
  sorted.each(Float64Array.of(8, 0, 9), 1, 10, (...posting) => found.push(posting));
  expect(found).toEqual([
    [1, 8, 0],
    [1, 9, 0],
    [0x7fff_0000_0000, 9, 0],
    [keySpace - 1, 8, 0],
  ]);
  expect(found.map(([at = 0]) => shardOf(at))).toEqual([0, 0, 7, 15]);
  expect(() => keyNumber(Buffer.alloc(5))).toThrow('out of range');
  await expect(SortedPostings.of([{ nameKeys: ['0000'], notAfter }])).rejects.toThrow(RangeError);
});

it('many postings are sorted in turns with other work, and are the same', async () => {
  const nameKeys = Array.from({ length: 50_000 }, (_, nth) =>
    ((nth * 7_919) % 50_000).toString(16).padStart(16, '0'),
  );
  let turns = 0;
  let isDone = false;
  const others = (async () => {
    for (; !isDone; turns += 1) await setImmediate();
  })();
  const sorted = await SortedPostings.of([{ nameKeys, notAfter: new Date(0) }]);
  isDone = true;
  await others;
  expect(turns).toBeGreaterThan(3);
  let count = 0;
  sorted.each(Float64Array.of(1), 1, 2, () => (count += 1));
  // Six bytes of a key are kept: of 50,000 from 0 on, one is left.
  expect(count).toBe(1);
});
