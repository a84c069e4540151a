import type { EntityManager } from 'typeorm';
import { anIssuance, CtDatabaseFixture, keyOf, keysOf } from '@certwright/ct-testing';
import { pageOfKeys } from '../issuance-pages';
import { readingAlone } from '../page-reader';
import { ensurePartitions } from '../partitions';
import { IssuerIds, storeIssuances } from '../store-issuances';
import { mergeRuns } from './merge-runs';
import { RecentBlocks } from './recent-blocks';

jest.setTimeout(60_000);

let ct: CtDatabaseFixture;
beforeAll(async () => {
  ct = await CtDatabaseFixture.open();
  await ensurePartitions(ct.database, new Date(), 20_000, 20_000);
});
afterAll(async () => await ct.close());

/** Every second issuance has the first name, every third one the second. */
async function store(count: number): Promise<void> {
  const ids = new IssuerIds();
  const issuances = Array.from({ length: count }, (_, nth) => {
    const names = [...(nth % 2 === 0 ? ['one'] : []), ...(nth % 3 === 0 ? ['other'] : []), `${nth}`];
    return anIssuance('example.com', { nameKeys: keysOf(...names) });
  });
  await ids.ensure(
    ct.database.manager,
    issuances.map(({ issuer }) => issuer),
  );
  const crls = issuances.map(() => null);
  await ct.database.transaction(async (tx) => await storeIssuances(tx, ids, issuances, crls));
}

let lookups = 0;
const counting: Pick<EntityManager, 'query'> = {
  query: async <T>(text: string, values?: unknown[]) => {
    if (text.includes('ct_run')) lookups += 1;
    return await ct.database.manager.query<T>(text, values);
  },
};

let nowMs = 0;
const recent = new RecentBlocks(() => nowMs);
const keys = ['one', 'other'].map(keyOf);

/** Positions of a page, and the number of lookups of postings. */
async function read(after: string, of: RecentBlocks | undefined, limit = 40) {
  const reader = { ...readingAlone(counting), recent: of };
  lookups = 0;
  const { issuances } = await pageOfKeys(reader, keys, { after, limit });
  return { positions: issuances.map(({ position }) => position), lookups };
}

async function readAll(of: RecentBlocks | undefined) {
  const all = { positions: [] as string[], lookups: 0 };
  for (let after = '0'; ;) {
    const page = await read(after, of);
    all.lookups += page.lookups;
    if (page.positions.length === 0) return all;
    all.positions.push(...page.positions);
    after = page.positions.at(-1) ?? '';
  }
}

it('pages that follow one another are read from the same blocks, and have the same issuances', async () => {
  for (let run = 0; run < 3; run += 1) await store(3_000);
  await mergeRuns(ct.database, 'small', new Date());
  await store(500);
  const [alone, kept] = [await readAll(undefined), await readAll(recent.of('tenant'))];
  expect(kept.positions).toEqual(alone.positions);
  expect(new Set(kept.positions).size).toBe(kept.positions.length);
  expect(kept.lookups).toBeLessThan(alone.lookups / 3);
});

it('a page needs a lookup for another account, for an earlier cursor, and once the blocks are ten seconds old', async () => {
  const own = recent.of('one account');
  const { positions } = await read('100', own);
  const next = positions.at(-1) ?? '';
  expect([(await read(next, own)).lookups, (await read(next, recent.of('another'))).lookups]).toEqual([0, 1]);
  expect((await read('50', own)).lookups).toBe(1);
  await read('100', own);
  nowMs += 10_000;
  expect((await read(next, own)).lookups).toBe(1);
});

it('what is stored after the last page is found', async () => {
  const own = recent.of('poller');
  const last = (await readAll(own)).positions.at(-1) ?? '';
  await store(6);
  expect((await read(last, own)).positions).toHaveLength(4);
});

it('keeps the blocks of the last 64 searches', async () => {
  for (let nth = 0; nth < 65; nth += 1) await read('0', recent.of(`account ${nth}`));
  expect((await read('0', recent.of('account 0'))).lookups).toBe(1);
  expect((await read('0', recent.of('account 64'))).lookups).toBe(0);
});

it('passes over what was deleted meanwhile', async () => {
  const own = recent.of('deleted');
  const next = (await read('100', own)).positions.at(-1) ?? '';
  const { positions } = await read(next, undefined, 80);
  await ct.database.query(`DELETE FROM ct_issuance WHERE position = ANY ($1)`, [positions.slice(0, 50)]);
  expect((await read(next, own, 30)).positions).toEqual(positions.slice(50));
});
