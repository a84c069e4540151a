import { eventually } from '@certwright/testing';
import { Pool } from 'pg';
import { anIssuance } from './testing/forged-issuance';
import { RunningSearch } from './testing/running-search';

jest.setTimeout(60_000);

describe('queries without a key', () => {
  let search: RunningSearch;
  beforeAll(async () => {
    search = await RunningSearch.start({
      ANONYMOUS_SINGLE_PER_HOUR: '3',
      ANONYMOUS_SUBDOMAINS_PER_HOUR: '1',
      TRUSTED_PROXIES: '127.0.0.1',
    });
  });
  afterAll(async () => await search.stop());

  const codes = async (client: string, ...queries: string[]) => {
    const seen: unknown[] = [];
    for (const query of queries) {
      const response = await search.get(query, { 'x-forwarded-for': client });
      seen.push(response.status === 200 ? 200 : response.json.code);
    }
    return seen;
  };
  const [single, tree] = [
    '/v1/issuances?domain=example.com',
    '/v1/issuances?domain=example.com&include_subdomains=1',
  ];

  it('are counted per hour once they are valid, each kind separately', async () => {
    const paths = [single, '/v1/issuances?domain=com', single, '/v1/issuances/1', tree, tree, single, single];
    const responses = await codes('192.0.2.1', ...paths);
    expect(responses).toEqual([200, 'bad_query', 200, 'not_found', 200, 'rate_limited', 200, 'rate_limited']);
  });

  it('are counted per address and /64, with Retry-After', async () => {
    expect(await codes('2001:db8::1', single, single, single)).toEqual([200, 200, 200]);
    const refused = await search.get(single, { 'x-forwarded-for': '2001:db8::2:3' });
    expect([refused.status, refused.json.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(60);
    expect(await codes('2001:db8:0:1::1', single)).toEqual([200]);
  });

  it('do not include those with a key, which the log identifies by account and key', async () => {
    const { authorization } = await search.key('standard');
    for (let query = 0; query < 5; query += 1)
      expect((await search.get(tree, { authorization })).status).toBe(200);
    const basic = `Basic ${Buffer.from(`${authorization.slice('Bearer '.length)}:`).toString('base64')}`;
    expect((await search.get(tree, { authorization: basic })).status).toBe(200);
    const refused = await search.get('/v1/issuances?domain=com', { authorization: 'Bearer nonsense' });
    expect([refused.status, refused.json.code]).toEqual([401, 'bad_credentials']);
    expect(refused.headers['www-authenticate']).toBeDefined();
  });
});

describe('the time limit of a plan', () => {
  let search: RunningSearch;
  let blocker: Pool;
  beforeAll(async () => {
    search = await RunningSearch.start({ ANONYMOUS_TIME_LIMIT: '8s' });
    blocker = new Pool({ connectionString: search.database.url, max: 1 });
    await search.store(anIssuance('example.com'));
    await search.core.query(`UPDATE search_plan SET time_limit_ms = 8000 WHERE is_default`);
  });
  afterAll(async () => {
    await blocker.end();
    await search.stop();
  });

  it('ends the statement in the database, and the query returns 504', async () => {
    const key = await search.key();
    const paths = ['/v1/issuances?domain=example.com', '/v1/issuances/1', '/v1/issuances/1.der'];
    // The key is known then: its lookup has a limit of its own, which a busy machine may exceed.
    await eventually(async () => expect((await search.get(paths[0] ?? '', key)).status).toBe(200));
    const lock = await blocker.connect();
    try {
      await lock.query('BEGIN');
      await lock.query('LOCK TABLE ct_issuance IN ACCESS EXCLUSIVE MODE');
      const responses = await Promise.all(
        [{}, key].flatMap((headers) => paths.map(async (at) => await search.get(at, headers))),
      );
      // Half of the limit later it would count as an outage: the limit is long, for a machine that stalls.
      expect(responses.map(({ status, json }) => [status, json.code])).toEqual(
        Array(6).fill([504, 'timeout']),
      );
      // A last statement with little time left is ended by PostgreSQL within the whole limit.
      await eventually(async () => {
        const running = await search.database.query(
          `SELECT 1 FROM pg_stat_activity WHERE application_name = 'ct-search' AND state = 'active'`,
        );
        expect(running).toEqual([]);
      });
      await lock.query('ROLLBACK');
    } finally {
      lock.release(true);
    }
    await eventually(async () => expect((await search.get(paths[0] ?? '', key)).status).toBe(200));
  });
});
