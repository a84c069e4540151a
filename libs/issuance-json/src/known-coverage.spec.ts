import type { EntityManager } from 'typeorm';
import { KnownCoverage } from './known-coverage';

let nowMs = 0;
let queried: number[][];
let checkedAt: Date | null;
const reader = {
  query: async (_: string, [crls]: [number[]]) => {
    queried.push(crls);
    return await Promise.resolve(crls.map((crl) => ({ checkedAt: crl === 9 ? null : checkedAt })));
  },
} as unknown as EntityManager;

let coverage: KnownCoverage;
beforeEach(() => {
  [queried, checkedAt] = [[], new Date(1)];
  coverage = new KnownCoverage(() => nowMs);
});
const ofPage = async (sinceMs: number, ...crls: number[]) =>
  await coverage.of(
    reader,
    crls.map((crl) => ({ issuer: 1, crl })),
    sinceMs,
  );
const of = async (...crls: number[]) => (await ofPage(nowMs, ...crls)).checkedAt;

it('lists are queried once in ten seconds, also those without coverage', async () => {
  expect(await of(1, 9)).toEqual([new Date(1), null]);
  checkedAt = new Date(2);
  expect(await of(9, 2, 1)).toEqual([null, new Date(2), new Date(1)]);
  expect(await of(1, 9, 2)).toEqual([new Date(1), null, new Date(2)]);
  expect(queried).toEqual([[1, 9], [2]]);
  nowMs += 10_000;
  expect(await of(1, 9)).toEqual([new Date(2), null]);
  expect(queried).toHaveLength(3);
});

it('the same list of another issuer is cached separately', async () => {
  await of(1);
  await coverage.of(reader, [{ issuer: 2, crl: 1 }], nowMs);
  expect(queried).toEqual([[1], [1]]);
});

it('a page that began before a list was read may lack what the list revokes', async () => {
  nowMs = 1_000;
  expect(await ofPage(1_000, 1)).toEqual({ checkedAt: [new Date(1)], isNewer: true });
  expect((await ofPage(999, 1)).isNewer).toBe(true);
  expect((await ofPage(1_001, 1)).isNewer).toBe(false);
  expect((await ofPage(1_001, 1, 2)).isNewer).toBe(false);
  // Unknown either way.
  expect((await ofPage(999, 9)).isNewer).toBe(false);
});
