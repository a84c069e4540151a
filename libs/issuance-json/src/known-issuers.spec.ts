import { Problem } from '@certwright/errors';
import type { EntityManager } from 'typeorm';
import { KnownIssuers } from './known-issuers';

/** DER. */
function tlv(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const length = [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...(body.length < 0x80 ? [body.length] : length)]), body]);
}

/** A Name with one common name. */
const nameOf = (commonName: string) =>
  tlv(
    0x30,
    tlv(0x31, tlv(0x30, tlv(0x06, Buffer.from('550403', 'hex')), tlv(0x0c, Buffer.from(commonName)))),
  );

let nowMs = 0;
let queried: number[][];
let fails = false;
let friendlyName: string;
let nameDer: Buffer;
const reader = {
  query: async (text: string, [ids]: [number[]]) => {
    // Profiles of organizations are none here.
    if (!text.includes('FROM ct_issuer AS')) return [];
    queried.push(ids);
    await Promise.resolve();
    if (fails) throw new Error('unavailable');
    const row = {
      spkiSha256: Buffer.alloc(32),
      nameDer,
      spkiDer: null,
      operatorName: null,
    };
    return ids.filter((id) => id < 100).map((id) => ({ ...row, id, friendlyName }));
  },
} as unknown as EntityManager;

let issuers: KnownIssuers;
beforeEach(() => {
  [queried, fails, friendlyName] = [[], false, 'One'];
  nameDer = nameOf('x');
  issuers = new KnownIssuers(() => nowMs);
});
const names = async (...ids: number[]) =>
  [...(await issuers.of(reader, new Set(ids)))].map(([id, issuer]) => [id, issuer.friendlyName]);

it('are queried once a minute, in one statement', async () => {
  expect(await names(1, 2)).toEqual([
    [1, 'One'],
    [2, 'One'],
  ]);
  friendlyName = 'Other';
  nowMs += 59_999;
  expect(await names(2, 3)).toEqual([
    [2, 'One'],
    [3, 'Other'],
  ]);
  nowMs += 1;
  expect(await names(1)).toEqual([[1, 'Other']]);
  expect(queried).toEqual([[1, 2], [3], [1]]);
});

it('are queried once for concurrent requests', async () => {
  const both = await Promise.all([names(1, 2), names(2, 3), names(1)]);
  expect(both.map(({ length }) => length)).toEqual([2, 2, 1]);
  expect(queried).toEqual([[1, 2], [3]]);
});

it('are queried again after an error, and omitted when missing', async () => {
  fails = true;
  const failed = await Promise.allSettled([names(1), names(1, 2)]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  fails = false;
  expect(await names(1, 100)).toEqual([[1, 'One']]);
});

it('are queried again by a request with time left, when the first one timed out', async () => {
  const late = { query: async () => await Promise.reject(new Problem('timeout', 'late')) };
  const first = issuers.of(late as unknown as EntityManager, new Set([1, 2]));
  const [one, other] = await Promise.allSettled([first, names(2, 3)]);
  expect(one).toMatchObject({ status: 'rejected', reason: { code: 'timeout' } });
  const value = [
    [3, 'One'],
    [2, 'One'],
  ];
  expect(other).toEqual({ status: 'fulfilled', value });
});

it('are not cached when they are longer than any real one', async () => {
  nameDer = nameOf('x'.repeat(20_000));
  expect([await names(1), await names(1)]).toEqual([[[1, 'One']], [[1, 'One']]]);
  expect(queried).toEqual([[1], [1]]);
});
