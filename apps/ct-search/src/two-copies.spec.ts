import { anIssuance } from './testing/forged-issuance';
import { RunningSearch } from './testing/running-search';

jest.setTimeout(60_000);

const query = '/v1/issuances?domain=example.com';

let one: RunningSearch;
let other: RunningSearch;
beforeAll(async () => {
  const settings = { ANONYMOUS_SINGLE_PER_HOUR: '4', TRUSTED_PROXIES: '127.0.0.1' };
  one = await RunningSearch.start(settings);
  const url = one.database.urlOf('ct-search');
  other = await RunningSearch.start({
    ...settings,
    DATABASE_URL: url,
    CT_DATABASE_URL: url,
    ...one.redis.environment,
  });
});
afterAll(async () => {
  await other.stop();
  await one.stop();
});

it('find the same, and one continues the pages of the other', async () => {
  const ids = await one.store(...Array.from({ length: 3 }, () => anIssuance('pages.example.net')));
  const page = async (search: RunningSearch, after: string) =>
    (await search.get(`/v1/issuances?domain=pages.example.net&after=${after}`, await key())).json as {
      id: string;
    }[];
  const key = async () => await one.key('standard');
  expect((await page(one, '0')).map(({ id }) => id)).toEqual(ids);
  expect((await page(other, ids[0] ?? '')).map(({ id }) => id)).toEqual(ids.slice(1));
});

it('count the queries of an address together', async () => {
  const headers = { 'x-forwarded-for': '192.0.2.9' };
  const statuses: number[] = [];
  // One after the other: the limit is per hour, so that no time of a slow machine adds a query.
  for (const search of [one, other, one, other, one, other])
    statuses.push((await search.get(query, headers)).status);
  expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
});

it('admit a key with the plan that the database has for it', async () => {
  const headers = await one.key('standard');
  for (const search of [one, other]) expect((await search.get(query, headers)).status).toBe(200);
});
