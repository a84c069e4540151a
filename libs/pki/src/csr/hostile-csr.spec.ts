import { generateKeyPairSync, getDiffieHellman } from 'node:crypto';
import fc from 'fast-check';
import { decodeCsrField, checkCsr } from '../index';
import { csrLimits, readCsr } from './read-csr';
import { dns, forgeCsr, rsaSpki } from '../testing/csr-forge';
import { fromHex, int, nul, octetString, seq, set, tlv } from '../testing/der-forge';
import { parseDer } from '../der/der-element';

// Thousands of requests are checked in one test.
jest.setTimeout(60_000);

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

function isAccepted(der: Uint8Array, mustNameEveryDnsName = false): boolean {
  const reading = readCsr(der);
  if (!reading.ok) return false;
  const expectations = { keyType: undefined, dnsNames: ['example.com'], rule: { mustNameEveryDnsName } };
  return checkCsr(reading.csr, expectations, { keyBlocked: false }).length === 0;
}

/** Positions of the length bytes of all elements of the valid request. */
function lengthsOf(der: Buffer): { at: number; length: number; lengthBytes: number }[] {
  const found: { at: number; length: number; lengthBytes: number }[] = [];
  const walk = (element: ReturnType<typeof parseDer>): void => {
    const header = element.raw.length - element.content.length;
    found.push({ at: element.offset + 1, length: element.content.length, lengthBytes: header - 1 });
    element.children.forEach(walk);
  };
  walk(parseDer(der));
  return found;
}

describe.each([
  ['ECDSA', forgeCsr(ec)],
  ['RSA', forgeCsr(rsa)],
])(
  'a valid %s request of which something is changed is never accepted, and nothing is thrown',
  (_kind, valid) => {
    it('the request itself is accepted', () => expect(isAccepted(valid, true)).toBe(true));

    it('every byte, with one bit flipped and replaced', () => {
      for (let at = 0; at < valid.length; at++) {
        for (const change of [1 << (at % 8), 0xff, 0x80, 0x20]) {
          const mutated = Buffer.from(valid);
          mutated[at] = (mutated[at] ?? 0) ^ change;
          expect([at, change, isAccepted(mutated)]).toEqual([at, change, false]);
        }
      }
    });

    it('truncated at every byte, from either end', () => {
      for (let at = 0; at < valid.length; at++) {
        expect(isAccepted(valid.subarray(0, at))).toBe(false);
        if (at > 0) expect(isAccepted(valid.subarray(at))).toBe(false);
      }
    });

    it('a byte removed, doubled or inserted anywhere', () => {
      for (let at = 0; at < valid.length; at++) {
        const [before, after] = [valid.subarray(0, at), valid.subarray(at)];
        expect(isAccepted(Buffer.concat([before, valid.subarray(at + 1)]))).toBe(false);
        expect(isAccepted(Buffer.concat([before, valid.subarray(at, at + 1), after]))).toBe(false);
        expect(isAccepted(Buffer.concat([before, fromHex('00'), after]))).toBe(false);
      }
    });

    it('every length encoded in another way', () => {
      for (const { at, length, lengthBytes: width } of lengthsOf(valid)) {
        const around = (...header: number[]) =>
          Buffer.concat([valid.subarray(0, at), Buffer.from(header), valid.subarray(at + width)]);
        const indefinite = Buffer.concat([
          around(0x80).subarray(0, at + 1 + length),
          fromHex('0000'),
          valid.subarray(at + width + length),
        ]);
        const others = [
          around(0x81, length & 0xff),
          around(0x83, 0, length >> 8, length & 0xff),
          around(0x84, 0, 0, length >> 8, length & 0xff),
          around(0x88, 0, 0, 0, 0, 0, 0, length >> 8, length & 0xff),
          around(0x84, 0xff, 0xff, 0xff, 0xff),
          around(0xff),
          indefinite,
        ];
        // 0x81 and one byte is the right form between 128 and 255.
        for (const other of others) if (!other.equals(valid)) expect(isAccepted(other)).toBe(false);
      }
    });

    it('bytes after the end, and another request after it', () => {
      for (const tail of [fromHex('00'), fromHex('0000'), fromHex('0500'), valid, Buffer.alloc(1000)]) {
        expect(isAccepted(Buffer.concat([valid, tail]))).toBe(false);
      }
    });

    it('several bytes changed at random', () => {
      const change = fc.tuple(fc.nat({ max: valid.length - 1 }), fc.integer({ min: 1, max: 255 }));
      fc.assert(
        fc.property(
          fc.uniqueArray(change, { selector: ([at]) => at, minLength: 1, maxLength: 8 }),
          (changes) => {
            const mutated = Buffer.from(valid);
            for (const [at, mask] of changes) mutated[at] = (mutated[at] ?? 0) ^ mask;
            expect(isAccepted(mutated)).toBe(false);
          },
        ),
        { numRuns: 500 },
      );
    });
  },
);

/** CPU time of this process, so that a busy machine fails no test. */
function cpuMsSince(start: NodeJS.CpuUsage): number {
  const { system, user } = process.cpuUsage(start);
  return (system + user) / 1000;
}

describe('work is bounded', () => {
  const filled = (unit: Uint8Array) => seq(Buffer.alloc(csrLimits.maxBytes - 8, unit));
  const nested = () => {
    let inner: Uint8Array = seq();
    while (inner.length < csrLimits.maxBytes - 8) inner = seq(inner);
    return inner;
  };
  const rsaRequest = (spki: Uint8Array, sans = [dns('example.com')]) =>
    forgeCsr(rsa, { spki, sans, signature: Buffer.alloc(256) });
  const long = Buffer.alloc(60_000, 0x7f);
  const cases: [string, () => Uint8Array][] = [
    ['sequences nested until nothing more fits', nested],
    ['twenty thousand empty elements', () => filled(nul())],
    ['twenty thousand empty sequences', () => filled(seq())],
    [
      'a set of two thousand large elements',
      () => set(...Array.from({ length: 2000 }, () => octetString(Buffer.alloc(28)))),
    ],
    ['one integer of 60 KB', () => seq(tlv(2, long))],
    ['an RSA modulus of 60 KB', () => rsaRequest(rsaSpki(long))],
    ['an RSA exponent of 60 KB', () => rsaRequest(rsaSpki(fromHex(`00${'f1'.repeat(256)}`), long))],
    [
      'a prime RSA modulus of 4096 bits',
      () => rsaRequest(rsaSpki(BigInt(`0x${getDiffieHellman('modp16').getPrime('hex')}`))),
    ],
    [
      'two thousand names',
      () =>
        rsaRequest(
          rsaSpki(1n),
          Array.from({ length: 2000 }, (_, i) => dns(`n${i}.example.com`)),
        ),
    ],
    ['an object identifier of 60 KB', () => seq(tlv(6, Buffer.alloc(60_000, 0x81)))],
    ['a text of 60 KB', () => seq(tlv(0x13, Buffer.alloc(60_000, 0x41)))],
    ['bytes of 00', () => Buffer.alloc(csrLimits.maxBytes)],
    ['bytes of FF', () => Buffer.alloc(csrLimits.maxBytes, 0xff)],
    ['more bytes than allowed', () => Buffer.alloc(1 << 20, 0x30)],
  ];

  // Each takes at most 20 ms; the margin allows for a slow machine, and is still far below a quadratic step.
  it.each(cases)('with %s', (_what, make) => {
    const der = make();
    const start = process.cpuUsage();
    expect(isAccepted(der, true)).toBe(false);
    expect(cpuMsSince(start)).toBeLessThan(2_000);
  });

  it('with text of every kind that could slow down a regular expression', () => {
    const length = 256 * 1024;
    const texts = [
      '-',
      '--',
      ' ',
      '--\n',
      '"kty"',
      '"d" ',
      '"d"    "kty"',
      'PRIVATE ',
      'PRIVATE%20',
      'A',
      '=',
      'A ',
      '\\n',
      '\ud800',
    ];
    for (const unit of texts) {
      const text = unit.repeat(length / unit.length);
      const start = process.cpuUsage();
      expect(decodeCsrField(text).ok).toBe(false);
      expect([unit, cpuMsSince(start) < 250]).toEqual([unit, true]);
    }
  });

  it('counts the elements of a request', () => {
    const names = (count: number) =>
      forgeCsr(ec, { subject: seq(), sans: Array.from({ length: count }, () => dns('example.com')) });
    expect(isAccepted(names(1000), true)).toBe(true);
    const tooMany = forgeCsr(ec, {
      attributes: [seq(int(1), ...Array.from({ length: csrLimits.maxElements }, nul))],
    });
    expect(readCsr(tooMany)).toMatchObject({
      ok: false,
      faults: [{ detail: expect.stringContaining('too many elements') as string }],
    });
  });
});

it('never throws, for any bytes', () => {
  const valid = forgeCsr(ec);
  const pieces = fc.array(
    fc.tuple(fc.nat(valid.length), fc.nat(60)).map(([at, size]) => valid.subarray(at, at + size)),
  );
  fc.assert(
    fc.property(pieces, (parts) => expect(isAccepted(seq(...parts))).toBe(false)),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => void decodeCsrField(text)),
    { numRuns: 1000 },
  );
});
