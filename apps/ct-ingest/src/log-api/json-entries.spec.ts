import { KnownChains, leafHash } from '@certwright/ct';
import { forgeMany } from '../testing/forged-entries';
import { served } from '../testing/forged-tree';
import { JsonEntries, readJsonEntries } from './json-entries';
import { EnoughEntries, EntryIsLong } from './streamed-entries';

const entries = forgeMany(5).map((submission, at) => {
  const { leaf, extraData } = served(submission, at, false);
  return { leaf_input: leaf.toString('base64'), extra_data: extraData.toString('base64') };
});
const usual = JSON.stringify({ entries });
const read = (text: string, most = 100) => readJsonEntries(Buffer.from(text), most);

it.each([
  ['with a line end', `${usual}\n`],
  ['with white space', JSON.stringify({ entries }, null, 2)],
  ['with white space at its end', `${usual} \n `],
  ['with slashes escaped', usual.replaceAll('/', '\\/')],
  ['with letters escaped', usual.replaceAll('A', '\\u0041')],
  [
    'with members in another order',
    JSON.stringify({ entries: entries.map(({ leaf_input, extra_data }) => ({ extra_data, leaf_input })) }),
  ],
  [
    'with unknown members',
    JSON.stringify({ version: 1, entries: entries.map((each) => ({ ...each, sct: '' })), more: [] }),
  ],
  ['with unknown members in the last entry', usual.replace(/\}\]\}$/, ',"sct":""}]}')],
])('a response %s says the same as one without', (_, text) => {
  const expected = read(usual);
  expect(expected.map(({ kind }) => kind)).toEqual(entries.map(() => 'read'));
  expect(read(text)).toEqual(expected);
});

it('invalid base64 in one entry makes it odd, and the others are read', () => {
  const [first, second, ...others] = entries;
  for (const wrong of ['_', '=', '%%%%']) {
    const odd = { ...second, extra_data: wrong };
    const kinds = read(JSON.stringify({ entries: [first, odd, ...others] })).map((entry) =>
      entry.kind === 'read' ? 'read' : entry.fault,
    );
    expect(kinds).toEqual(['read', 'json', 'read', 'read', 'read']);
  }
});

it.each([
  ['as usual', usual],
  ['otherwise', JSON.stringify({ entries }, null, 2)],
])('no more are read than were requested, of a response that is written %s', (_, text) => {
  expect(read(text, 3)).toEqual(read(usual).slice(0, 3));
  expect(read(text, 5)).toEqual(read(usual));
});

it.each([
  ['objects', '{"entries":[', '{},'],
  ['lists within lists', '', '['],
  ['white space', '', ' '],
  ['unknown members', '{', '"a":{"b":[1,"c\\"",2]},'],
  ['digits', '{"a":', '1'],
])('a response of millions of %s is given up after 64 KiB', (_, begin, one) => {
  const response = new JsonEntries({ max: 100, chains: new KnownChains(), maxHeld: 1e9, maxEntry: 1e9 });
  response.take(Buffer.from(begin));
  expect(() => {
    for (let taken = 0; taken < 70_000; taken += one.length) response.take(Buffer.from(one));
  }).toThrow('The log returned');
});

it('of a response with millions of entries, reads only the requested number', () => {
  const one = '{"extra_data":"","leaf_input":""},';
  expect(read(`{"entries":[${one.repeat(100_000)}`)).toHaveLength(100);
});

describe('a response in chunks', () => {
  const texts = { 'as usual': usual, 'with white space': JSON.stringify({ entries }, null, 2) };
  const escaped = usual.replaceAll('/', '\\/').replaceAll('A', '\\u0041');
  const long = JSON.stringify({ entries: [{ ...entries[0], leaf_input: longLeaf(200_000) }, entries[1]] });
  const all = Object.entries({ ...texts, 'with escapes': escaped, 'with a long entry': long });
  const cases = all.flatMap(([form, text]) => [1, 7, 1_000].map((size) => [form, size, text] as const));

  it.each(cases)('%s, in chunks of %i bytes, is read like a single one', (_, size, text) => {
    expect(inPieces(text, size)).toEqual(read(text));
  });

  function inPieces(text: string, size: number) {
    const bytes = Buffer.from(text);
    const response = new JsonEntries({ max: 100, chains: new KnownChains(), maxHeld: 1e9, maxEntry: 1e9 });
    for (let at = 0; at < bytes.length; at += size) response.take(bytes.subarray(at, at + size));
    response.end();
    return response.entries;
  }
});

it.each([
  ['leaf', 16_000_000, 0],
  ['precertificate', 1_000, 16_000_000],
])(
  'an entry with a %s of 16 MB is hashed as it arrives, and only partly kept',
  (_, leafBytes, precertificateBytes) => {
    const precertificate = Buffer.alloc(precertificateBytes, 1);
    const { leaf_input, extra_data } = {
      leaf_input: longLeaf(leafBytes),
      extra_data: Buffer.concat([Buffer.from([0, 0, 1]), precertificate]).toString('base64'),
    };
    const response = new JsonEntries({ max: 1, chains: new KnownChains(), maxHeld: 1, maxEntry: Infinity });
    const bytes = Buffer.from(JSON.stringify({ entries: [{ leaf_input, extra_data }] }));
    let most = 0;
    const take = () => {
      for (let at = 0; at < bytes.length; at += 65_536) {
        response.take(bytes.subarray(at, at + 65_536));
        most = Math.max(most, response.bytesUnderWay);
      }
    };
    expect(take).toThrow(EnoughEntries);
    expect(most).toBeLessThan(4_000_000);
    const leaf = Buffer.from(leaf_input, 'base64');
    expect(response.entries).toEqual([
      {
        kind: 'odd',
        leafHash: leafHash(leaf),
        fault: 'huge',
        leaf: leaf.subarray(0, 65_536),
        leafBytes: leaf.length,
      },
    ]);
  },
);

it.each([
  ['says that it is short', Buffer.alloc(64)],
  ['is of an unknown type', Buffer.alloc(64, 0x41)],
])('a leaf that goes on without end though it %s is not read on', (_, head) => {
  const response = new JsonEntries({ max: 1, chains: new KnownChains(), maxHeld: 1, maxEntry: Infinity });
  response.take(Buffer.from(`{"entries":[{"leaf_input":"${head.toString('base64').replace(/=*$/, 'AA')}`));
  expect(() => {
    for (let taken = 0; taken < 2_000_000; taken += 65_536) response.take(Buffer.alloc(65_536, 'A'));
  }).toThrow('exceeds the maximum length');
});

it('an entry that exceeds its limit is not read, and earlier ones are kept', () => {
  const response = new JsonEntries({ max: 9, chains: new KnownChains(), maxHeld: 1e9, maxEntry: 20_000 });
  const long = { leaf_input: longLeaf(30_000), extra_data: '' };
  const bytes = Buffer.from(JSON.stringify({ entries: [...entries, long] }));
  expect(() => response.take(bytes)).toThrow(EntryIsLong);
  expect(response.entries).toHaveLength(5);
});

/** A MerkleTreeLeaf of a certificate with this length. */
function longLeaf(bytes: number): string {
  const head = Buffer.alloc(15);
  head.writeUIntBE(bytes, 12, 3);
  return Buffer.concat([head, Buffer.alloc(bytes, 7), Buffer.alloc(2)]).toString('base64');
}

it.each([
  ['cut off', usual.slice(0, -1)],
  ['cut off in an entry', usual.slice(0, -500)],
  ['cut off in its beginning', '{"entries":[{"leaf_in'],
  ['with something behind it', `${usual}{}`],
  ['with two commas', usual.replace('},{', '},,{')],
  ['with a comma behind the last entry', usual.replace(']}', ',]}')],
])('a response %s is no JSON', (_, text) => expect(() => read(text)).toThrow('something that is not JSON'));

it.each([
  ['nothing in it', ''],
  ['no entries', '{"entries":[]}'],
  ['something else', '{"error":"no"}'],
  ['an entry without a leaf', '{"entries":[{"leaf_input":7,"extra_data":""}]}'],
])('a response with %s is none', (_, text) => expect(() => read(text)).toThrow('The log returned'));
