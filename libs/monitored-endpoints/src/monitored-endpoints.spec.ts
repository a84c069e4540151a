import { CoreDatabaseFixture } from '@certwright/core-testing';
import { MonitoredEndpoints } from './monitored-endpoints';

let core: CoreDatabaseFixture;
let endpoints: MonitoredEndpoints;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  endpoints = new MonitoredEndpoints(core.database);
  await core.account('1');
  await core.account('2');
});
afterAll(async () => await core.close());
beforeEach(async () => await core.database.query('DELETE FROM monitored_endpoint'));

const add = async (accountId: string, name: string, { state = 'ok', bytes = 0 } = {}) =>
  await core.database.query(
    `INSERT INTO monitored_endpoint (account_id, dns_name, state, served) VALUES ($1, $2, $3, $4)`,
    [accountId, name, state, JSON.stringify([{ problem: 'x'.repeat(bytes) }])],
  );
const namesOf = (rows: readonly { readonly dns_name: string }[]) => rows.map(({ dns_name }) => dns_name);
const page = async (differences: object = {}) => {
  const request = { after: null, limit: 2, states: [], ...differences };
  const { endpoints: rows, hasMore } = await endpoints.page('1', request);
  return [...namesOf(rows), hasMore];
};

it('reads those of one account: one, some by exact names, and pages in any or some states', async () => {
  for (const name of ['a.example', 'b.example', 'c.example']) await add('1', name);
  await add('1', 'd.example', { state: 'failing' });
  await add('2', 'other.example');
  expect((await endpoints.get('1', 'a.example'))?.dns_name).toBe('a.example');
  expect(await endpoints.get('1', 'other.example')).toBeNull();
  const { endpoints: some, hasMore } = await endpoints.ofNames('1', [
    ...['d.example', 'a.example', '*.example', 'www.a.example', 'other.example'],
  ]);
  expect([...namesOf(some), hasMore]).toEqual(['a.example', 'd.example', false]);
  expect(await endpoints.ofNames('1', [])).toEqual({ endpoints: [], hasMore: false });
  expect(await page()).toEqual(['a.example', 'b.example', true]);
  expect(await page({ after: 'b.example' })).toEqual(['c.example', 'd.example', false]);
  expect(await page({ after: 'd.example' })).toEqual([false]);
  expect(await page({ states: ['failing', 'gone'] })).toEqual(['d.example', false]);
});

it('reads no more at once than fits into memory, and at least one', async () => {
  for (const name of ['a.example', 'b.example', 'c.example']) await add('1', name, { bytes: 4_000_000 });
  await add('1', 'd.example', { bytes: 9_000_000 });
  expect(await page({ limit: 100 })).toEqual(['a.example', 'b.example', true]);
  expect(await page({ limit: 100, after: 'b.example' })).toEqual(['c.example', true]);
  expect(await page({ limit: 100, after: 'c.example' })).toEqual(['d.example', false]);
  const { endpoints: some, hasMore } = await endpoints.ofNames('1', ['b.example', 'd.example']);
  expect([...namesOf(some), hasMore]).toEqual(['b.example', true]);
});
