import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { Certificate } from 'pkijs';
import { indexKeys, type Issued, readDataTile, readIssued, tbsSha256 } from '../index';
import {
  alternativeNames,
  attribute,
  dns,
  endless,
  forgeCertificate,
  forgeTbs,
  hex,
  ids,
  int,
  octetString,
  poison,
  sctList,
  seq,
  set,
  text,
  tlv,
} from '../testing/forge';

// Thousands of certificates are also read by the slow readers, and some have many megabytes.
jest.setTimeout(120_000);

const tile = readFileSync(join(__dirname, '../testing/data/navigli2025h2-001.tile'));
const reading = readDataTile(tile, { index: 1, width: 256 });
const precertificates = (reading.ok ? reading.entries : []).map((entry) =>
  entry.type === 'precertificate' ? entry.precertificateDer : entry.certificateDer,
);

/** Reads and digests: must never throw. */
function readAll(der: Uint8Array): Issued {
  for (const kind of ['certificate', 'tbs'] as const) {
    expect(tbsSha256(readIssued(der, kind))).toMatch(/^[0-9a-f]{64}$/);
  }
  const issued = readIssued(der, 'precertificate');
  expect(tbsSha256(issued)).toMatch(/^[0-9a-f]{64}$/);
  indexKeys(issued.dnsNames);
  return issued;
}

/** Undefined when the other reader cannot read it. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

interface View {
  readonly serial: string;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly spki: string | undefined;
  readonly dnsNames: string;
}

const withoutLeadingZeroes = (serial: string) => serial.toLowerCase().replace(/^(?:00)+(?=..)/, '');

function nodesView(der: Uint8Array): View {
  const read = new X509Certificate(der);
  return {
    serial: withoutLeadingZeroes(read.serialNumber),
    notBefore: Date.parse(read.validFrom),
    notAfter: Date.parse(read.validTo),
    spki: attempt(() => read.publicKey.export({ type: 'spki', format: 'der' }).toString('hex')),
    dnsNames: (read.subjectAltName ?? '').replaceAll('DNS:', ''),
  };
}

function pkijsView(der: Uint8Array): View {
  const read = Certificate.fromBER(der);
  const names = read.extensions?.find(({ extnID }) => extnID === '2.5.29.17')?.parsedValue as
    { altNames: { type: number; value: string }[] } | undefined;
  return {
    serial: withoutLeadingZeroes(Buffer.from(read.serialNumber.valueBlock.valueHexView).toString('hex')),
    notBefore: read.notBefore.value.getTime(),
    notAfter: read.notAfter.value.getTime(),
    spki: Buffer.from(read.subjectPublicKeyInfo.toSchema().toBER()).toString('hex'),
    dnsNames: (names?.altNames ?? []).map(({ type, value }) => (type === 2 ? value : '?')).join(', '),
  };
}

/** One to four changes: a byte is changed, removed or duplicated, or a piece is moved. */
const changes = fc.array(
  fc.record({
    kind: fc.constantFrom('change', 'change', 'change', 'remove', 'double', 'move'),
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    to: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    byte: fc.constantFrom(0, 1, 2, 0x0c, 0x1e, 0x30, 0x80, 0x81, 0x82, 0x84, 0xff, ...Buffer.from('a.*Z9-')),
  }),
  { minLength: 1, maxLength: 4 },
);
type Change = typeof changes extends fc.Arbitrary<(infer T)[]> ? T : never;

function changed(der: Buffer, { kind, at, to, byte }: Change): Buffer {
  const [here, there] = [Math.floor(at * der.length), Math.floor(to * der.length)];
  const [before, after] = [der.subarray(0, here), der.subarray(here + 1)];
  if (kind === 'remove') return Buffer.concat([before, after]);
  if (kind === 'double') return Buffer.concat([before, der.subarray(here, here + 1), der.subarray(here)]);
  const copy = Buffer.from(der);
  if (kind === 'change') copy[here] = byte;
  else der.copy(copy, there, here, here + 16);
  return copy;
}

it('never throws for changed certificates, and agrees with Node and pkijs where those agree', () => {
  const agreements = { serial: 0, notBefore: 0, notAfter: 0, spki: 0, dnsNames: 0 };
  const property = fc.property(fc.nat(255), changes, (index, list) => {
    const der = list.reduce(changed, precertificates[index]!);
    const ours = readAll(der);
    const [node, pkijs] = [attempt(() => nodesView(der)), attempt(() => pkijsView(der))];
    if (node === undefined || pkijs === undefined) return;
    const { serial, notBefore, notAfter, spkiDer } = ours;
    const view = { serial, notBefore, notAfter, spki: spkiDer?.toString('hex') };
    for (const part of ['serial', 'notBefore', 'notAfter', 'spki'] as const) {
      if (node[part] !== pkijs[part]) continue;
      expect([part, view[part]]).toEqual([part, node[part]]);
      agreements[part]++;
    }
    const names = node.dnsNames.split(', ');
    if (node.dnsNames !== pkijs.dnsNames || !names.every((name) => /^[*a-z0-9.-]+\.[a-z]+$/.test(name)))
      return;
    if (names.some((name) => /^\.|\.\.|\.$/.test(name) || name.length > 253)) return;
    expect(ours.dnsNames.slice(0, new Set(names).size)).toEqual([...new Set(names)]);
    agreements.dnsNames++;
  });
  fc.assert(property, { numRuns: 400, seed: 20250503 });
  // Otherwise nothing was compared.
  for (const count of Object.values(agreements)) expect(count).toBeGreaterThan(25);
});

it('accepts any value of every byte, and truncation anywhere', () => {
  const der = precertificates[0]!;
  for (let at = 0; at < der.length; at++) {
    for (const byte of [0x00, 0x80, 0x84, 0xff]) {
      const copy = Buffer.from(der);
      copy[at] = byte;
      readAll(copy);
    }
    readAll(der.subarray(0, at));
    readAll(der.subarray(at));
  }
});

it('accepts any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void readAll(seq(bytes))),
    { numRuns: 3000, seed: 1 },
  );
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (parts) => {
      readAll(forgeCertificate({ extensions: parts.map((part) => seq(part)), subject: seq(...parts) }));
    }),
    { numRuns: 1000, seed: 2 },
  );
});

describe('megabytes of anything take time in proportion', () => {
  /** A log's entry has 16 MiB at most; 2 suffice. */
  const size = 2 * 1024 * 1024;
  const filled = (unit: Uint8Array) => Buffer.alloc(size - (size % unit.length), unit);
  const san = (content: Uint8Array) => forgeCertificate({ extensions: [alternativeNames(content)] });
  const distinctNames = () => {
    const names = Buffer.alloc(size, 'a.b');
    for (let at = 0, n = 0; at + 10 <= size; at += 10, n++) {
      names.writeUInt16BE(0x8208, at);
      names.write(n.toString(36).padStart(6, '0'), at + 2, 'latin1');
      names.write('.x', at + 8, 'latin1');
    }
    return names.subarray(0, size - (size % 10));
  };
  const nested = (head: string) => Buffer.alloc(size, hex(head));
  const relativeNames = () => filled(attribute(ids.commonName, text(0x0c, 'a.example')));

  it.each<[string, () => Uint8Array]>([
    ['zeroes', () => Buffer.alloc(size)],
    ['FF', () => Buffer.alloc(size, 0xff)],
    ['nested indefinite lengths', () => nested('3080')],
    ['nested indefinite lengths with an end', () => Buffer.concat([nested('3080'), Buffer.alloc(size)])],
    ['the same as extensions', () => forgeCertificate({ wrapper: endless(0xa3, nested('3080')) })],
    ['the same as each part of the names', () => san(filled(hex('a28030800000')))],
    ['lengths of 126 bytes', () => filled(Buffer.concat([hex('30fe'), Buffer.alloc(126)]))],
    ['lengths of 4 GiB', () => nested('3084ffffffff')],
    ['tag numbers without end', () => nested('bfff')],
    ['empty elements', () => forgeTbs({ tail: filled(hex('0500')) })],
    ['empty extensions', () => forgeCertificate({ extensions: [filled(hex('3000'))] })],
    ['poison', () => forgeCertificate({ extensions: [filled(poison)] })],
    [
      'poison and SCT lists',
      () => forgeCertificate({ extensions: [filled(Buffer.concat([poison, sctList]))] }),
    ],
    ['empty names', () => san(filled(dns('')))],
    ['one name again and again', () => san(filled(dns('a.example')))],
    ['other names', () => san(distinctNames())],
    ['names in Unicode', () => san(filled(dns(Buffer.from('\u00fc'))))],
    ['names in broken UTF-8', () => san(filled(dns(hex('fc'))))],
    ['names of NULs', () => san(filled(dns(Buffer.alloc(4096))))],
    ['names parted by NULs', () => san(filled(dns('a\0'.repeat(2000))))],
    ['names of dots', () => san(filled(dns('.'.repeat(4000))))],
    ['names of slashes', () => san(filled(dns('http://'.repeat(500))))],
    ['names of spaces', () => san(filled(dns(`x${' '.repeat(4000)}x`)))],
    ['one name', () => san(dns(Buffer.alloc(size, 'a.')))],
    ['common names', () => forgeCertificate({ subject: seq(relativeNames()) })],
    [
      'common names in one SET',
      () => forgeCertificate({ subject: seq(set(filled(seq(tlv(6, ids.commonName))))) }),
    ],
    [
      'a common name in UTF-16',
      () => forgeCertificate({ subject: seq(attribute(ids.commonName, tlv(0x1e, Buffer.alloc(size, 1)))) }),
    ],
    ['a serial number', () => forgeCertificate({ serial: tlv(2, Buffer.alloc(size, 0x80)) })],
    ['a time', () => forgeCertificate({ validity: seq(tlv(0x18, Buffer.alloc(size, '9')), int('01')) })],
    [
      'alternative names as extensions, each again',
      () => forgeCertificate({ extensions: [filled(alternativeNames(dns('a.example')))] }),
    ],
    [
      'an OCTET STRING in an OCTET STRING',
      () =>
        forgeCertificate({
          extensions: [seq(tlv(6, ids.subjectAlternativeName), tlv(0x24, octetString(nested('2480'))))],
        }),
    ],
  ])('%s', (_what, make) => {
    const der = make();
    const start = process.cpuUsage();
    const issued = readIssued(der, 'certificate');
    tbsSha256(issued);
    const { user, system } = process.cpuUsage(start);
    // Each takes a second at most; steps that took quadratic time would take hours.
    expect((user + system) / 1e6).toBeLessThan(30);
  });
});
