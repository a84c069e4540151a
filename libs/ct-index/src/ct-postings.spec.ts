import { indexKeys, queryKeys } from '@certwright/ct';
import { anIssuance, CtDatabaseFixture } from '@certwright/ct-testing';
import { pageOfKeys } from './issuance-pages';
import { readingAlone } from './page-reader';
import { IssuerIds, storeIssuances } from './store-issuances';
import { CtPostings1795651300000 } from '@certwright/ct-schema';

jest.setTimeout(60_000);

let ct: CtDatabaseFixture;
beforeAll(async () => (ct = await CtDatabaseFixture.open(100, 300)));
afterAll(async () => await ct.close());

const change = async (direction: 'up' | 'down') => {
  const runner = ct.database.createQueryRunner();
  await runner.startTransaction();
  await new CtPostings1795651300000()[direction](runner);
  await runner.commitTransaction();
  await runner.release();
};

it('converts rows per name to blocks and back, with all indexed and known issuances', async () => {
  const ids = new IssuerIds();
  const names = [
    ['example.com', '*.example.com', 'a.b.example.com'],
    ['*.b.example.com', 'localhost', 'xn--bcher-kva.example'],
  ];
  const issuances = Array.from({ length: 250 }, (_, nth) => {
    const dnsNames = [...(names[nth % 2] ?? []), `n${nth}.example.net`];
    return anIssuance('', { dnsNames, nameKeys: indexKeys(dnsNames) });
  });
  await ids.ensure(
    ct.database.manager,
    issuances.map(({ issuer }) => issuer),
  );
  const store = async () =>
    await ct.database.transaction(async (tx) => await storeIssuances(tx, ids, issuances, []));
  const positionsOf = async (domain: string) => {
    const query = { domain, includeSubdomains: true, matchWildcards: false };
    const keys = queryKeys(query).map((key) => Buffer.from(key, 'hex'));
    const { issuances: page } = await pageOfKeys(readingAlone(ct.database.manager), keys, {
      after: '0',
      limit: 1_000,
    });
    return page.map(({ position }) => position);
  };
  await store();
  const wanted = {
    'example.com': 250,
    'xn--bcher-kva.example': 125,
    'n7.example.net': 1,
    'example.net': 250,
  };
  const pages = await Promise.all(Object.keys(wanted).map(positionsOf));
  expect(pages.map(({ length }) => length)).toEqual(Object.values(wanted));

  await change('down');
  const expected = issuances.flatMap(({ nameKeys }, nth) => nameKeys.map((key) => `${nth + 1} ${key}`));
  const rows: { row: string }[] = await ct.database.query(
    `SELECT position || ' ' || encode(key, 'hex') AS row FROM ct_name`,
  );
  expect(rows.map(({ row }) => row).sort()).toEqual(expected.sort());
  const [{ whole }] = await ct.database.query(
    `SELECT count(*)::int AS whole FROM ct_known JOIN ct_issuance USING (tbs_sha256, position)`,
  );
  expect(whole).toBe(250);

  await change('up');
  expect(await Promise.all(Object.keys(wanted).map(positionsOf))).toEqual(pages);
  expect(await store()).toEqual({ discovered: 0, completed: 0 });
  expect(await ct.database.query(`SELECT to_position, partition FROM ct_run ORDER BY 1`)).toEqual([
    { to_position: '100', partition: '100' },
    { to_position: '200', partition: '200' },
    { to_position: '251', partition: '300' },
  ]);
});
