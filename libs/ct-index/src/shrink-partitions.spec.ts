import { ctDataSource } from '@certwright/ct-schema';
import { anIssuance, CtDatabaseFixture, keyOf } from '@certwright/ct-testing';
import { citusUrl } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { pageOfKeys } from './issuance-pages';
import type { NewIssuance } from './new-issuance';
import { readingAlone } from './page-reader';
import { dropExpired } from './partitions';
import { mergeRuns, takeLane } from './runs/merge-runs';
import { shrinkExpired } from './shrink-partitions';
import { IssuerIds, storeIssuances } from './store-issuances';

jest.setTimeout(60_000);

const dayMs = 86_400_000;
const expired = { notAfter: new Date(Date.now() - 3 * dayMs) };
const living = [1, 500, 998].map((nth) =>
  anIssuance(`living${nth}.example.com`, { notAfter: new Date(Date.now() + 1_170 * dayMs) }),
);

let ct: CtDatabaseFixture;
/** With the grants of the process. */
let asIngest: DataSource;
const ids = new IssuerIds();
beforeAll(async () => {
  ct = await CtDatabaseFixture.open(1_000, 1_000);
  asIngest = await ctDataSource({
    ...{ url: ct.urlOf('ct-ingest'), applicationName: 'spec', poolSize: 4, statementTimeoutMs: 30_000 },
  }).initialize();
  const issuances = Array.from({ length: 998 }, (_, nth) => anIssuance(`n${nth}.example.com`, expired));
  for (const [nth, each] of living.entries()) issuances[[0, 499, 997][nth] ?? 0] = each;
  await store(issuances);
});
afterAll(async () => {
  await asIngest.destroy();
  await ct.close();
});

async function store(issuances: readonly NewIssuance[]) {
  await ids.ensure(
    asIngest.manager,
    issuances.map(({ issuer }) => issuer),
  );
  const crls = issuances.map(() => null);
  return await asIngest.transaction(async (tx) => await storeIssuances(tx, ids, issuances, crls));
}
const shrink = async (maxLiving = 3) => await shrinkExpired(asIngest, new Date(), maxLiving);
const size = async (table: string): Promise<number> => {
  const [{ bytes }] = await ct.database.query<[{ bytes: string }]>(
    `SELECT pg_total_relation_size($1::regclass) AS bytes`,
    [table],
  );
  return Number(bytes);
};
const found = async () => {
  const pages = living.map(async ({ dnsNames: [name = ''] }) => {
    const page = { after: '0', limit: 10 };
    return (await pageOfKeys(readingAlone(ct.database.manager), [keyOf(name)], page)).issuances;
  });
  return (await Promise.all(pages)).flat();
};

(citusUrl() === undefined ? it : it.skip)(
  'a full partition is reduced to its few certificates that are still valid',
  async () => {
    // One position is left.
    expect(await shrink()).toEqual([]);
    await store([anIssuance('last.example.com', expired)]);
    // Its postings still contain those of expired certificates.
    expect(await shrink()).toEqual([]);
    expect(await mergeRuns(asIngest, 'large', new Date())).toMatchObject({ postings: 3 });
    // More are valid than would be copied.
    expect(await shrink(2)).toEqual([]);
    await asIngest.transaction(async (merging) => {
      expect(await takeLane(merging, 'large')).toBe(true);
      expect(await shrink()).toEqual([]);
    });
    const before = await size('ct_issuance_p1000');
    const [issuances, position] = [await found(), await nextPosition()];
    expect(issuances.map((each) => each.position)).toEqual(['1', '500', '998']);

    let isShrinking = true;
    const reading = (async () => {
      while (isShrinking) expect(await found()).toEqual(issuances);
    })();
    expect(await shrink()).toEqual(['ct_issuance_p1000']);
    isShrinking = false;
    await reading;
    expect(await size('ct_issuance_p1000')).toBeLessThan(before / 3);
    expect(await found()).toEqual(issuances);
    expect(await nextPosition()).toBe(position);
    expect(await ct.database.query(`SELECT position FROM ct_issuance ORDER BY position`)).toEqual(
      issuances.map((each) => ({ position: each.position })),
    );
    // They are still known, and completed in place.
    const complete = living.map((each) => ({ ...each, precertificate: false }));
    expect(await store(complete)).toEqual({ discovered: 0, completed: 3 });
    expect(await shrink()).toEqual([]);
    expect(await dropExpired(asIngest, new Date())).toEqual([]);
    expect(await dropExpired(asIngest, new Date('2200-01-01'))).toEqual(
      expect.arrayContaining(['ct_issuance_p1000', 'ct_block_p1000']),
    );
  },
);

async function nextPosition(): Promise<string> {
  const [{ next }] = await ct.database.query<[{ next: string }]>(`SELECT next FROM ct_sequence`);
  return next;
}
