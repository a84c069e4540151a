import { eventually } from '@certwright/testing';
import { anIssuance, inDays } from '../testing/forged-issuance';
import { isOnCitus, type SearchResponse, RunningSearch } from '../testing/running-search';

jest.setTimeout(60_000);

let search: RunningSearch;
let key: { readonly authorization: string };
beforeAll(async () => {
  search = await RunningSearch.start();
  key = await search.key('firehose');
});
afterAll(async () => await search.stop());

const newest = '9223372036854775807';
/** Issuances of one test are long past in the next. */
beforeEach(async () => await search.age(newest, 200));

const stream = async (query = '') => await search.get(`/v1/issuances/firehose${query}`, key);
const idsOf = ({ json }: SearchResponse): string[] => (json as { id: string }[]).map(({ id }) => id);
const some = async (count: number, fields = {}) =>
  await search.store(...Array.from({ length: count }, (_, at) => anIssuance(`n${at}.example.com`, fields)));

it('starts with the first issuance of the last hour, across gaps and partitions, with 1,000 per page', async () => {
  const old = await some(700);
  await search.age(old.at(-1), 3);
  const hourAgo = await some(400);
  await search.age(hourAgo.at(-1), 1.01);
  // Already known: their positions are gaps.
  const known = anIssuance('known.example.com');
  await search.store(known);
  await search.age(newest, 1.01);
  for (let round = 0; round < 30; round += 1) await search.store(known, anIssuance('known.example.com'));
  await search.age(newest, 1.01);
  const recent = [
    ...(await some(650)),
    ...(await some(650, { notAfter: inDays(-1), notBefore: inDays(-9) })),
  ];
  const first = await stream('?expand=dns_names');
  expect(idsOf(first)).toEqual(recent.slice(0, 1_000));
  const [, address = ''] =
    /^<https:\/\/ct\.example\.com(.*)>; rel="next"$/.exec(String(first.headers['link'])) ?? [];
  expect(address).toBe(`/v1/issuances/firehose?expand=dns_names&after=${recent[999]}`);
  const second = await search.get(address, key);
  expect(idsOf(second)).toEqual(recent.slice(1_000));
  expect(second.headers).not.toHaveProperty('link');
  const end = await stream(`?after=${recent.at(-1)}`);
  expect([end.text, end.headers['retry-after']]).toEqual(['[]', '300']);
});

it('starts at the end of a stream without discoveries in the last hour', async () => {
  expect((await stream()).text).toBe('[]');
  await some(3);
  await search.age(newest, 2);
  expect((await stream()).text).toBe('[]');
  const [id] = await some(1);
  expect(idsOf(await stream())).toEqual([id]);
});

describe('a client that lags', () => {
  it('gets an error once the next issuance is older than 24 hours, and not before', async () => {
    const [first, second, third] = await some(3);
    await search.age(third, 23.9);
    expect(idsOf(await stream(`?after=${first}`))).toEqual([second, third]);
    await search.age(second, 24.1);
    const late = await stream(`?after=${first}`);
    expect([late.status, late.json.code, late.json.field]).toEqual([410, 'lagging_client', 'after']);
    expect(late.headers['access-control-allow-origin']).toBe('*');
    expect(idsOf(await stream(`?after=${second}`))).toEqual([third]);
    expect((await stream('?after=0')).status).toBe(410);
  });

  it('is not one that is up to date with a quiet stream', async () => {
    const ids = await some(3);
    await search.age(newest, 100);
    for (const after of [ids.at(-1), newest]) expect((await stream(`?after=${after}`)).text).toBe('[]');
    const [next] = await some(1);
    expect(idsOf(await stream(`?after=${ids.at(-1)}`))).toEqual([next]);
  });
});

describe('is for subscriptions that include it', () => {
  const codeWith = async (headers: Record<string, string>) => {
    const response = await search.get('/v1/issuances/firehose?after=x', headers);
    return [response.status, response.json.code];
  };
  it('and reports what is missing before the query is parsed', async () => {
    expect(await codeWith({})).toEqual([401, 'bad_credentials']);
    expect(await codeWith({ authorization: 'Bearer 1_nonsense' })).toEqual([401, 'bad_credentials']);
    expect(await codeWith(await search.key())).toEqual([403, 'not_allowed_by_plan']);
    expect(await codeWith(await search.key('standard'))).toEqual([403, 'not_allowed_by_plan']);
    expect(await codeWith(key)).toEqual([400, 'bad_query']);
  });
});

it('makes two pages of an account at a time, and three together', async () => {
  const pages = async (count: number, headers: Record<string, string>) =>
    await Promise.all(
      Array.from({ length: count }, async () => await search.get('/v1/issuances/firehose', headers)),
    );
  const other = await search.key('firehose');
  // Each key is known then.
  for (const headers of [key, other])
    expect((await search.get('/v1/issuances/firehose', headers)).status).toBe(200);
  let responses: Promise<SearchResponse[]>[] = [];
  await search.database.transaction(async (tx) => {
    await tx.query('LOCK TABLE ct_issuance IN ACCESS EXCLUSIVE MODE');
    const waitFor = async (count: number) =>
      await eventually(async () => {
        const waiting = await search.database.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        expect(waiting).toHaveLength(count);
      });
    responses = [pages(5, key)];
    await waitFor(2);
    responses.push(pages(5, other));
    await waitFor(3);
  });
  expect((await Promise.all(responses)).flat().map(({ status }) => status)).toEqual(Array(10).fill(200));
});

(isOnCitus ? it.skip : it)('costs one statement per page, and another one to find its start', async () => {
  const [id] = await some(3);
  const count = async (query: string) => {
    const statements = await search.statementsOf(() => stream(query));
    return statements.filter((statement) => !statement.includes('FROM ct_crl')).length;
  };
  expect([await count(''), await count(`?after=${id}`)]).toEqual([2, 1]);
});
