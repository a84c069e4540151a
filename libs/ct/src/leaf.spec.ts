import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  chainCertificates,
  chainFingerprints,
  entryLeafHash,
  readDataTile,
  readEntriesResponse,
  readLeaf,
  readLeafJson,
} from './index';
import { hex } from './testing/forge';

const data = (name: string) => readFileSync(join(__dirname, 'testing/data', name));
const response = (name: string) => JSON.parse(data(name).toString()) as { entries: Record<string, string>[] };
const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

const precertificates = response('navigli2025h2-first-32.get-entries.json');
const certificates = response('first-entries-2013.get-entries.json');
const decoded = (entry: Record<string, string> | undefined, member: string) =>
  Buffer.from(entry?.[member] ?? '', 'base64');

describe('a get-entries response', () => {
  it('has the same entries as the data tile', () => {
    const tile = readDataTile(data('navigli2025h2-000.tile'), { index: 0, width: 256 });
    const entries = readEntriesResponse(precertificates);
    expect(entries).toHaveLength(32);
    for (const [index, reading] of (entries ?? []).entries()) {
      if (!reading.ok || !tile.ok) throw new Error('not read');
      const { chain: _, ...ours } = reading.entry;
      const { chain: __, ...theirs } = tile.entries[index]!;
      expect(ours).toEqual(theirs);
      expect(ours.leafIndex).toBe(index);
    }
  });

  it('has leaves whose hash is that of all their bytes', () => {
    for (const entry of [...precertificates.entries, ...certificates.entries]) {
      const reading = readLeafJson(entry);
      if (!reading.ok) throw new Error(reading.fault);
      expect(entryLeafHash(reading.entry)).toEqual(sha256(hex('00'), decoded(entry, 'leaf_input')));
    }
  });

  it('has chains, the issuer first', () => {
    for (const entry of certificates.entries) {
      const reading = readLeafJson(entry);
      if (!reading.ok) throw new Error(reading.fault);
      const chain = chainCertificates(reading.entry);
      expect(chain.length).toBeGreaterThan(0);
      expect(3 + chain.reduce((sum, { length }) => sum + 3 + length, 0)).toBe(
        decoded(entry, 'extra_data').length,
      );
      expect(chainFingerprints(reading.entry)).toEqual(chain.map((each) => sha256(each)));
    }
  });

  it.each([null, undefined, 5, 'entries', [], {}, { entries: {} }, { entries: 'x' }])('is not %j', (json) =>
    expect(readEntriesResponse(json)).toBeNull(),
  );

  it('reports for each entry whether it is readable', () => {
    const entries = [
      certificates.entries[0],
      null,
      { leaf_input: 5 },
      { leaf_input: 'AA==' },
      certificates.entries[1],
    ];
    expect(readEntriesResponse({ entries })?.map(({ ok }) => ok)).toEqual([true, false, false, false, true]);
  });
});

describe('a MerkleTreeLeaf', () => {
  const leaf = decoded(precertificates.entries[0], 'leaf_input');
  const extra = decoded(precertificates.entries[0], 'extra_data');
  const x509 = decoded(certificates.entries[0], 'leaf_input');
  const chain = decoded(certificates.entries[0], 'extra_data');
  const patched = (at: number, digits: string) => {
    const copy = Buffer.from(leaf);
    hex(digits).copy(copy, at);
    return copy;
  };

  it('is read to the byte', () => {
    expect(readLeaf(leaf, extra)).toMatchObject({ ok: true, entry: { type: 'precertificate' } });
    expect(readLeaf(x509, chain)).toMatchObject({
      ok: true,
      entry: { type: 'certificate', timestamp: 0x13da420e863, leafIndex: null },
    });
  });

  it.each<[string, Uint8Array, Uint8Array, string]>([
    ['of another version', patched(0, '01'), extra, 'leaf_version'],
    ['of another leaf type', patched(1, '01'), extra, 'leaf_version'],
    ['of another entry type', patched(10, '0002'), extra, 'entry_type'],
    ['of a time after 2^53', patched(2, '0020000000000000'), extra, 'leaf'],
    ['with bytes after it', Buffer.concat([leaf, hex('00')]), extra, 'leaf'],
    ['without its last byte', leaf.subarray(0, -1), extra, 'leaf'],
    ['with an empty TBSCertificate', patched(44, '000000'), extra, 'leaf'],
    ['with nothing', Buffer.alloc(0), extra, 'leaf'],
    ['with extra data that is cut off', leaf, extra.subarray(0, -1), 'extra_data'],
    ['with bytes after the extra data', leaf, Buffer.concat([extra, hex('00')]), 'extra_data'],
    ['without extra data', leaf, Buffer.alloc(0), 'extra_data'],
    ['of a certificate with an empty one in the chain', x509, hex('000003000000'), 'extra_data'],
    [
      'of a certificate with a chain that exceeds its stated length',
      x509,
      hex('00000400000255'),
      'extra_data',
    ],
    ['of a certificate with the extra data of a precertificate', x509, extra, 'extra_data'],
  ])('%s is refused', (_what, leafInput, extraData, fault) => {
    expect(readLeaf(leafInput, extraData)).toEqual({ ok: false, fault });
  });

  it('truncated anywhere, or with any byte changed, is read or rejected', () => {
    for (let at = 0; at < leaf.length; at++) {
      expect(readLeaf(leaf.subarray(0, at), extra).ok).toBe(false);
      readLeaf(patched(at, 'ff'), extra);
    }
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (some, more) => void readLeaf(some, more)),
      { numRuns: 1000, seed: 6962 },
    );
  });

  it('an empty chain is valid', () => {
    expect(readLeaf(x509, hex('000000'))).toMatchObject({ ok: true });
  });
});

it('a leaf in anything but padded base64 is rejected', () => {
  const good = certificates.entries[0]!;
  const text = good['leaf_input']!;
  expect(readLeafJson(good).ok).toBe(true);
  for (const leaf_input of [
    text.replace(/=+$/, ''),
    `${text.slice(0, 76)}\n${text.slice(76)}`,
    `AA==${text}`,
  ])
    expect(readLeafJson({ ...good, leaf_input })).toEqual({ ok: false, fault: 'json' });
});
