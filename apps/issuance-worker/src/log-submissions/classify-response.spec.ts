import { logRestMs, refusedDelayMs } from './back-off';
import { classifyResponse } from './classify-response';
import { readSct } from './read-sct';

const now = new Date('2026-11-20T10:00:00Z');
const sct = {
  sct_version: 0,
  id: Buffer.alloc(32, 7).toString('base64'),
  timestamp: 1_795_300_000_123,
  extensions: '',
  signature: Buffer.from('0403000201ff', 'hex').toString('base64'),
};
const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const classified = (
  status: number,
  body: Buffer = Buffer.alloc(0),
  headers: Record<string, string> = {},
  truncated = false,
) => classifyResponse({ status, headers, body, truncated }, now);

describe('an SCT', () => {
  it('is stored in the form used in certificates', () => {
    const extensions = Buffer.from('0000050000000001', 'hex');
    expect(readSct(json({ ...sct, extensions: extensions.toString('base64') }))).toEqual({
      sct: Buffer.concat([
        Buffer.of(0),
        Buffer.alloc(32, 7),
        uint64(sct.timestamp),
        Buffer.of(0, 8),
        extensions,
        Buffer.from('0403000201ff', 'hex'),
      ]),
      loggedAt: new Date(sct.timestamp),
    });
  });

  it.each([
    ['no JSON', Buffer.from('<html>')],
    ['no object', json(null)],
    ['an array', json([sct])],
    ['another version', json({ ...sct, sct_version: 1 })],
    ['a version as a string', json({ ...sct, sct_version: '0' })],
    ['an id of 31 bytes', json({ ...sct, id: Buffer.alloc(31).toString('base64') })],
    ['an id that is no base64', json({ ...sct, id: '*'.repeat(44) })],
    ['no timestamp', json({ ...sct, timestamp: undefined })],
    ['a timestamp beyond any clock', json({ ...sct, timestamp: 9e15 })],
    ['a timestamp before any', json({ ...sct, timestamp: -1 })],
    ['a fraction', json({ ...sct, timestamp: 1.5 })],
    ['no extensions', json({ ...sct, extensions: null })],
    ['too long extensions', json({ ...sct, extensions: Buffer.alloc(65_536).toString('base64') })],
    ['no signature', json({ ...sct, signature: '' })],
    [
      'a signature of another length than it says',
      json({ ...sct, signature: Buffer.from('0403000301ff', 'hex').toString('base64') }),
    ],
    ['a signature longer than any', json({ ...sct, signature: Buffer.alloc(4_096).toString('base64') })],
    ['members of the prototype', Buffer.from(`{"__proto__":${JSON.stringify(sct)}}`)],
  ])('is none with %s', (_, body) => {
    expect(readSct(body)).toBeNull();
    expect(classified(200, body)).toMatchObject({ kind: 'failed' });
  });
});

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

describe('a response of a log', () => {
  it('is a promise only with 200 and when complete', () => {
    expect(classified(200, json(sct))).toMatchObject({
      kind: 'logged',
      promise: { loggedAt: new Date(sct.timestamp) },
    });
    expect(classified(202, json(sct))).toMatchObject({ kind: 'failed' });
    expect(classified(200, json(sct), {}, true)).toMatchObject({ kind: 'failed' });
  });

  it('is a refusal of this certificate with its reason, made printable and short', () => {
    const refused = (body: Buffer) => classified(400, body);
    expect(refused(json({ error_message: 'The chain leads to no root.' }))).toEqual({
      kind: 'refused',
      problem: 'The log responded with 400: The chain leads to no root.',
    });
    expect(refused(Buffer.from('a\0b\u202ec\n'))).toEqual({
      kind: 'refused',
      problem: 'The log responded with 400: a b c.',
    });
    expect(refused(Buffer.alloc(0))).toEqual({ kind: 'refused', problem: 'The log responded with 400.' });
    expect((refused(Buffer.alloc(16_384, 'x')) as { problem: string }).problem).toHaveLength(230);
    for (const status of [403, 409, 413, 422]) expect(classified(status)).toMatchObject({ kind: 'refused' });
  });

  const retryAfter = { 'retry-after': '7' };

  it.each([429, 503])('concerns the log with %i', (status) => {
    const problem = `The log responded with ${status}.`;
    expect(classified(status)).toEqual({ kind: 'unavailable', problem, retryAfterMs: null });
    expect(classified(status, undefined, retryAfter)).toMatchObject({ retryAfterMs: 7_000 });
  });

  it.each([301, 401, 404, 405, 408, 500, 502, 504])(
    'is ambiguous with %i, unless it has Retry-After',
    (status) => {
      expect(classified(status)).toEqual({ kind: 'failed', problem: `The log responded with ${status}.` });
      const unavailable = { kind: 'unavailable', retryAfterMs: 7_000 };
      expect(classified(status, undefined, retryAfter)).toMatchObject(unavailable);
    },
  );
});

describe('the pauses', () => {
  it('of a log grow to five minutes, or follow Retry-After, min one second and max one day', () => {
    expect([1, 2, 3, 9, 10, 1_000].map((failures) => logRestMs(failures, null))).toEqual([
      1_000, 2_000, 4_000, 256_000, 300_000, 300_000,
    ]);
    expect([0, 7_000, 1e12].map((retryAfter) => logRestMs(50, retryAfter))).toEqual([
      1_000, 7_000, 86_400_000,
    ]);
  });

  it('of a refused certificate grow to six hours', () => {
    expect([1, 2, 8, 9, 2_000].map(refusedDelayMs)).toEqual([
      5_000, 15_000, 10_935_000, 21_600_000, 21_600_000,
    ]);
  });
});
