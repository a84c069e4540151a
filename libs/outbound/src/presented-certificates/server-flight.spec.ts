import { randomBytes } from 'node:crypto';
import { readServerFlight } from './server-flight';

const uint24 = (value: number) => Buffer.of(value >> 16, (value >> 8) & 255, value & 255);
const vector24 = (...parts: readonly Buffer[]) => {
  const content = Buffer.concat(parts);
  return Buffer.concat([uint24(content.length), content]);
};
const message = (type: number, ...parts: readonly Buffer[]) =>
  Buffer.concat([Buffer.of(type), vector24(...parts)]);
/** In records of at most `size` bytes. */
function records(type: number, content: Buffer, size = 16_384): Buffer {
  const cuts = Array.from({ length: Math.ceil(content.length / size) }, (_, at) =>
    content.subarray(at * size, (at + 1) * size),
  );
  return Buffer.concat(
    cuts.flatMap((cut) => [Buffer.of(type, 3, 3, cut.length >> 8, cut.length & 255), cut]),
  );
}

const serverHello = message(2, Buffer.of(3, 3), randomBytes(32), Buffer.of(0), Buffer.of(0xc0, 0x2f, 0));
const certificates = [randomBytes(700), randomBytes(1), randomBytes(20_000)];
const certificate = message(11, vector24(...certificates.map((each) => vector24(each))));
const flight = Buffer.concat([serverHello, certificate, message(14)]);

describe('the first flight of a server', () => {
  it.each([16_384, 1_000, 1])('is read whatever the size of its records: %d', (size) => {
    expect(readServerFlight(records(22, flight, size), null)).toEqual({
      isTls: true,
      choice: { version: 'TLSv1.2', cipher: 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256' },
      certificates,
      alert: null,
    });
  });

  it('has no certificates before the last byte of their message', () => {
    const bytes = records(22, flight, 5_000);
    const seen = Array.from(bytes, (_, at) => readServerFlight(bytes.subarray(0, at), null).certificates);
    // The record that ends the message is the last one here.
    expect(seen.filter((each) => each !== null)).toEqual([]);
  });

  it.each([
    ['a list longer than its message', message(11, Buffer.concat([uint24(9), vector24(randomBytes(1))]))],
    ['a list shorter than its message', message(11, Buffer.concat([uint24(4), vector24(randomBytes(2))]))],
    ['a certificate beyond the list', message(11, vector24(Buffer.concat([uint24(9), randomBytes(2)])))],
    ['half a length', message(11, vector24(vector24(randomBytes(2)), Buffer.of(0, 0)))],
    ['nothing in it', message(11, vector24())],
    ['nothing', message(11)],
  ])('with %s has none', (_what, malformed) => {
    const bytes = records(22, Buffer.concat([serverHello, malformed]));
    expect(readServerFlight(bytes, null)).toMatchObject({ isTls: true, certificates: null, alert: null });
  });

  const hello = (version: number, suite: number, ...extensions: readonly Buffer[]) =>
    message(
      2,
      Buffer.of(3, version),
      randomBytes(32),
      Buffer.of(0, suite >> 8, suite & 255, 0),
      ...extensions,
    );
  const extension = (type: number, ...content: readonly number[]) =>
    Buffer.of(0, 4 + content.length, 0, type, 0, content.length, ...content);

  it.each<[string, Buffer, string | undefined]>([
    ['TLS 1.0', hello(1, 0x2f), 'TLSv1'],
    ['TLS 1.1', hello(2, 0x2f), 'TLSv1.1'],
    ['TLS 1.2, with another extension', hello(3, 0xc02f, extension(11, 1, 0)), 'TLSv1.2'],
    ['TLS 1.3', hello(3, 0x1301, extension(43, 3, 4)), 'TLSv1.3'],
    ['SSL 3', hello(0, 0x2f), undefined],
    ['an unknown version', hello(3, 0x1301, extension(43, 3, 9)), undefined],
    ['a suite that is not offered', hello(3, 0x0000), undefined],
    ['half an extension', hello(3, 0xc02f, extension(11, 1, 0).subarray(0, -1)), 'TLSv1.2'],
    ['half a suite', message(2, Buffer.of(3, 3), randomBytes(32), Buffer.of(0, 0xc0)), undefined],
  ])('chooses %s', (_what, content, version) => {
    expect(readServerFlight(records(22, content), null).choice?.version).toBe(version);
  });

  it('finds no certificates in records encrypted with unknown keys', () => {
    const sealed = records(23, randomBytes(500));
    for (const secret of [null, randomBytes(32), randomBytes(48), Buffer.of()]) {
      for (const suite of [0x1301, 0x1302, 0x1303, 0x1304]) {
        const hello = message(2, Buffer.of(3, 3), randomBytes(32), Buffer.of(0, suite >> 8, suite & 255, 0));
        const bytes = Buffer.concat([records(22, hello), sealed, records(22, certificate)]);
        expect(readServerFlight(bytes, secret).certificates).toBeNull();
      }
    }
    expect(readServerFlight(sealed, randomBytes(32))).toMatchObject({ isTls: false });
  });

  it('is read without a fault, however it is mangled', () => {
    const bytes = Buffer.concat([
      records(22, flight, 300),
      records(21, Buffer.of(2, 40)),
      records(23, flight),
    ]);
    for (let round = 0; round < 3_000; round += 1) {
      const mangled = Buffer.from(bytes);
      for (const at of randomBytes(8)) mangled[(at * 7 + round) % 400] = round & 255;
      const cut = mangled.subarray(0, randomBytes(2).readUInt16BE() % bytes.length);
      expect(() => readServerFlight(cut, round % 2 === 0 ? null : randomBytes(32))).not.toThrow();
    }
  });

  it('tells a fatal alert, and neither a warning nor half of one', () => {
    const alert = (...bytes: number[]) => readServerFlight(records(21, Buffer.from(bytes)), null).alert;
    expect([alert(2, 40), alert(1, 112), alert(2), alert(1, 0)]).toEqual([40, null, null, null]);
  });

  it.each([
    ['TLS', Buffer.of(22, 3, 1), true],
    ['one byte of it', Buffer.of(21), true],
    ['SSL 2', Buffer.of(0x80, 0x2e, 1), false],
    ['text', Buffer.from('HTTP/1.1'), false],
    ['nothing', Buffer.of(), null],
  ])('begins like TLS or does not: %s', (_what, bytes, isTls) => {
    expect(readServerFlight(bytes, null).isTls).toBe(isTls);
  });
});
