import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { KnownChains, type LogEntry, readLeafJson, readLeafText } from './index';

interface EntryText {
  readonly leaf_input: string;
  readonly extra_data: string;
}

const entriesOf = (name: string) =>
  (JSON.parse(readFileSync(join(__dirname, 'testing/data', name), 'utf8')) as { entries: EntryText[] })
    .entries;
const precertificates = entriesOf('navigli2025h2-first-32.get-entries.json');
const certificates = entriesOf('first-entries-2013.get-entries.json');
const [precertificate] = precertificates as [EntryText];
const bytesOf = (text: string) => Buffer.from(text, 'base64');

/** By the texts within a response that has more around them. */
function read({ leaf_input, extra_data }: EntryText, chains: KnownChains): LogEntry | null {
  const leafInput = { start: 3, end: 3 + leaf_input.length };
  const extraData = { start: leafInput.end + 5, end: leafInput.end + 5 + extra_data.length };
  const response = Buffer.from(`...${leaf_input}.....${extra_data}"AAAA`, 'latin1');
  return readLeafText(response, leafInput, extraData, chains);
}

function asJson(text: EntryText): LogEntry | null {
  const reading = readLeafJson(text);
  return reading.ok ? reading.entry : null;
}

/** All of an entry as one string, which is fast to compare. */
function shown(entry: LogEntry | null): string {
  const bytes = (value: unknown): unknown =>
    Buffer.isBuffer(value) ? value.toString('latin1') : value === entry?.chain ? entry?.chain.of : value;
  if (entry === null) return 'none';
  return JSON.stringify(
    [...Object.entries(entry), ['chain bytes', entry.chain.bytes]].sort().map((each) => each.map(bytes)),
  );
}

/** Compares the result with that of the JSON, without known chains, with some, and once more. */
function expectAsJson(text: EntryText, chains: KnownChains): LogEntry | null {
  const expected = asJson(text);
  const ours = [new KnownChains(), chains, chains].map((each) => shown(read(text, each)));
  if (ours.some((each) => each !== shown(expected))) expect([text, ...ours]).toEqual([text, shown(expected)]);
  return expected;
}

/** PrecertChainEntry of a precertificate with this length. */
function extraOf(length: number, chain: Buffer): Buffer {
  const head = Buffer.alloc(3 + length, 0x30);
  head.writeUIntBE(length, 0, 3);
  return Buffer.concat([head, chain]);
}
const vector = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, bytes.length]), bytes]);
const chainOf = (...certificates: number[]) =>
  vector(Buffer.concat(certificates.map((byte) => vector(Buffer.alloc(12, byte)))));

it('reads entries of real logs like their JSON, whether or not their chains are known', () => {
  const chains = new KnownChains();
  for (const text of [...precertificates, ...certificates, ...precertificates])
    expect(expectAsJson(text, chains)).not.toBeNull();
});

it('shares equal chains at any base64 alignment, and separates others', () => {
  const chains = new KnownChains();
  const shared = new Set();
  for (let round = 0; round < 2; round++)
    for (let length = 1; length <= 12; length++)
      for (const chain of [chainOf(1, 2), chainOf(1, 3), chainOf(4), vector(Buffer.alloc(0))]) {
        const extra_data = extraOf(length, chain).toString('base64');
        const entry = expectAsJson({ ...precertificate, extra_data }, chains);
        expect(entry?.chain.bytes).toEqual(chain.subarray(3));
        shared.add(read({ ...precertificate, extra_data }, chains)?.chain);
      }
  expect(shared.size).toBe(3 * 4);
});

it('distinguishes chains with equal text and different preceding bytes', () => {
  const chains = new KnownChains();
  const whole = extraOf(1, chainOf(1, 2));
  expect(expectAsJson({ ...precertificate, extra_data: whole.toString('base64') }, chains)).not.toBeNull();
  for (const at of [4, 5])
    for (const byte of [0x01, 0xff]) {
      const other = Buffer.from(whole);
      other[at] = byte;
      expect(expectAsJson({ ...precertificate, extra_data: other.toString('base64') }, chains)).toBeNull();
    }
  // The same text without preceding bytes.
  const extra_data = whole.subarray(6).toString('base64');
  expect(expectAsJson({ ...precertificate, extra_data }, chains)).toBeNull();
});

it('reads entries with any changed byte or truncation like JSON, with known chains', () => {
  const chains = new KnownChains();
  for (let length = 0; length <= 3; length++) {
    const extra_data = extraOf(length, chainOf(1, 2)).toString('base64');
    expectAsJson({ ...precertificate, extra_data }, chains);
    for (let at = 0; at < extra_data.length; at++) {
      const [before, after] = [extra_data.slice(0, at), extra_data.slice(at + 1)];
      for (const one of ['A', 'B', '/', '=', '-', '_', '\\', '\n', '\xc1', ''])
        expectAsJson({ ...precertificate, extra_data: `${before}${one}${after}` }, chains);
      expectAsJson({ ...precertificate, extra_data: before }, chains);
      expectAsJson({ ...precertificate, extra_data: `${before}AA==${extra_data.slice(at)}` }, chains);
    }
  }
});

it('reads any bytes like JSON', () => {
  const chains = new KnownChains();
  const leaves = [precertificate, ...certificates.slice(0, 1)].map(({ leaf_input }) => leaf_input);
  const some = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('base64'));
  const chain = fc.constantFrom('AAAA', 'AAAEAAABMAAAAA==', 'AAAB', '');
  fc.assert(
    fc.property(
      fc.constantFrom('', 'AAA', ...leaves),
      some,
      chain,
      (leaf_input, head, tail) => void expectAsJson({ leaf_input, extra_data: `${head}${tail}` }, chains),
    ),
    { numRuns: 2_000, seed: 6962 },
  );
});

it('rejects an invalid leaf', () => {
  const chains = new KnownChains();
  const leaf = bytesOf(precertificate.leaf_input);
  for (const leaf_input of [leaf.subarray(1), leaf.subarray(0, -1), Buffer.concat([leaf, leaf])])
    expectAsJson({ ...precertificate, leaf_input: leaf_input.toString('base64') }, chains);
});
