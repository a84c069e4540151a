import { basic } from '../testing/tenant';
import { asUser, type ReceivedResponse, RunningApi, type Tenant } from '../testing/running-api';

// A machine that is busy with other specs must not fail these.
jest.setTimeout(60_000);

let api: RunningApi;
let tenant: Tenant;
let user: Tenant;
let users = 0;

beforeAll(async () => {
  api = await RunningApi.start({ LOG_LEVEL: 'debug', TRUSTED_PROXIES: '127.0.0.0/8' });
});
beforeEach(async () => {
  tenant = await api.tenant();
  user = await asUser(api, tenant, nextEmail(), 'Grüße 🔑 von:hier');
});
afterAll(() => api.stop());

const nextEmail = () => `user${(users += 1)}@example.com`;
const latestEmail = () => `user${users}@example.com`;
const credentials = '/api/v2/api_credentials';
/** Every spec comes from an address of its own, or they would count each other's failures. */
const from = (address: string) => ({ 'x-forwarded-for': address });
const reasonOf = ({ status, json }: ReceivedResponse) => [status, json.reason];

describe('user name and password', () => {
  it('are the same as the API key', async () => {
    const path = '/api/v2/certs/nothing.example.com';
    const [byKey, byPassword] = [await tenant.get(path), await user.get(path)];
    expect([byPassword.status, byPassword.json]).toEqual([200, byKey.json]);
    expect((await user.postForm('/api/v2/account', { locality: 'London' })).json.locality).toBe('London');
    expect((await tenant.get('/api/v2/account')).json.locality).toBe('London');
  });

  it('are taken with the user name in any case', async () => {
    const capitals = tenant.as(latestEmail().toUpperCase(), 'Grüße 🔑 von:hier');
    expect((await capitals.get('/api/v2/account')).status).toBe(200);
  });

  it.each([
    ['another password', () => basic(latestEmail(), 'Grüße 🔑 von hier')],
    ['no password', () => basic(latestEmail(), '')],
    ['another user', () => basic('unknown@example.com', 'Grüße 🔑 von:hier')],
    ['the API key with a password', () => basic(tenant.apiKey, 'Grüße 🔑 von:hier')],
    ['the hash for a password', () => basic(latestEmail(), 'scrypt:32768:8:1')],
    ['Latin-1', () => `Basic ${Buffer.from(`${latestEmail()}:Gr\xfc\xdfe`, 'latin1').toString('base64')}`],
    ['a NUL', () => basic(`${latestEmail()}\0`, 'Grüße 🔑 von:hier')],
    ['one hundred kilobits', () => basic(latestEmail(), 'x'.repeat(9_000))],
  ])('%s: 401 with the challenge in UTF-8', async (_what, authorization) => {
    const address = `2001:db8:1:${(users += 1).toString(16)}::1`;
    users -= 1;
    const headers = { authorization: authorization(), ...from(address) };
    const response = await api.call('GET', '/api/v2/account', { headers });
    expect(reasonOf(response)).toEqual([401, 'bad_credentials']);
    expect(response.headers['content-type']).toBe('application/json');
    expect(response.headers['www-authenticate']).toContain('Basic realm="Certwright", charset="UTF-8"');
  });

  it.each(['account_user', 'account'])('of a disabled %s are refused as a disabled key is', async (table) => {
    expect((await user.get('/api/v2/account')).status).toBe(200);
    const column = table === 'account' ? 'id' : 'account_id';
    await api.database.query(`UPDATE ${table} SET disabled_at = now() WHERE ${column} = $1`, [
      tenant.accountId,
    ]);
    expect(reasonOf(await user.get('/api/v2/account'))).toEqual([403, 'unauthorized']);
    expect(reasonOf(await tenant.as(latestEmail(), 'x').get('/api/v2/account', from('192.0.2.9')))).toEqual([
      401,
      'bad_credentials',
    ]);
  });

  it('follow the password at once when it is changed', async () => {
    expect((await user.get('/api/v2/account')).status).toBe(200);
    const other = await asUser(api, await api.tenant(), nextEmail(), 'another');
    expect((await other.get('/api/v2/account')).status).toBe(200);
    await api.database.query(
      `UPDATE account_user SET password_hash = (SELECT password_hash FROM account_user WHERE email = $2)
       WHERE account_id = $1`,
      [tenant.accountId, latestEmail()],
    );
    expect((await user.get('/api/v2/account', from('192.0.2.10'))).status).toBe(401);
  });

  it('get 429 for a user name that was tried too often; API keys are unaffected', async () => {
    const guess = (_: unknown, n: number): Promise<ReceivedResponse> =>
      tenant.as(latestEmail(), `guess ${n}`).get('/api/v2/account', from(`198.51.100.${n}`));
    // All at once, since on a slow machine the next guess may be allowed before ten have been checked; and four times as
    // many as the limit, since the process counts by itself while Redis is slow, and the limit grows meanwhile.
    const guesses = Array.from({ length: 40 }, guess);
    const limited = await Promise.any(
      guesses.map(async (response) =>
        (await response).status === 429 ? response : Promise.reject(new Error('401')),
      ),
    );
    expect(limited.json).toMatchObject({ reason: 'rate_limited', retry_after: expect.any(Number) });
    expect((await user.get('/api/v2/account', from('198.51.100.200'))).status).toBe(429);
    expect((await tenant.get('/api/v2/account', from('198.51.100.1'))).status).toBe(200);
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401).length).toBeGreaterThanOrEqual(10);
    expect(statuses.filter((status) => status !== 401 && status !== 429)).toEqual([]);
  });

  it('that are right are not counted, however many users share an address', async () => {
    const names = Array.from({ length: 15 }, () => nextEmail());
    await api.database.query(
      `INSERT INTO account_user (account_id, email, password_hash)
       SELECT account_id, unnest($2::text[]), password_hash FROM account_user WHERE account_id = $1`,
      [tenant.accountId, names],
    );
    const statuses: number[] = [];
    for (const name of names) {
      const colleague = tenant.as(name, 'Grüße 🔑 von:hier');
      statuses.push((await colleague.get('/api/v2/account', from('203.0.113.7'))).status);
    }
    expect(statuses).toEqual(Array(15).fill(200));
  });

  it('of many users at once get 401 or 503, never 500', async () => {
    const guesses = Array.from({ length: 60 }, (_, n) =>
      tenant
        .as(`unknown${n}@example.com`, 'guess')
        .get('/api/v2/account', from(`2001:db8:2:${n.toString(16)}::1`)),
    );
    const responses = (await Promise.all(guesses)).map(({ status, json }) => ({
      status,
      retry: json.retry_after,
    }));
    const rejected = responses.filter(({ status }) => status === 503);
    expect(rejected.length).toBeGreaterThan(0);
    expect(rejected.every(({ retry }) => retry > 0)).toBe(true);
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([401, 503]));
    expect((await user.get('/api/v2/account')).status).toBe(200);
  });

  it('never stand in the log', async () => {
    expect(api.logged.length).toBeGreaterThan(50);
    const all = api.logged.join('\n');
    for (const secret of [
      'Grüße',
      'guess',
      Buffer.from('user1@example.com:Gr').toString('base64').slice(0, 20),
    ])
      expect(all).not.toContain(secret);
  });
});

describe('the API key of an account', () => {
  it('is returned to its users, the same to all of them, and works', async () => {
    const colleague = await asUser(api, tenant, nextEmail(), 'another');
    const responses = await Promise.all(
      [user, colleague, user, colleague].map((each) => each.get(credentials)),
    );
    for (const { status, headers, json } of responses) {
      expect([status, headers['content-type']]).toEqual([200, 'application/json']);
      expect(json).toEqual({ api_key: responses[0]?.json.api_key });
    }
    const key: string = responses[0]?.json.api_key;
    expect(key).toMatch(new RegExp(`^${tenant.accountId}_[\\w-]{32}$`));
    for (const authorization of [basic(key, ''), `Bearer ${key}`]) {
      const { status, json } = await api.call('GET', '/api/v2/account', { headers: { authorization } });
      expect([status, json.id]).toEqual([200, Number(tenant.accountId)]);
    }
    expect(
      await api.database.query(
        `SELECT label, permissions FROM api_key WHERE account_id = $1 AND label <> 'spec'`,
        [tenant.accountId],
      ),
    ).toEqual([{ label: 'api_credentials', permissions: ['Full Access'] }]);
  });

  it('is another one in another account, and cannot be read in the database', async () => {
    const other = await asUser(api, await api.tenant(), nextEmail(), 'another');
    const [mine, theirs] = [await user.get(credentials), await other.get(credentials)];
    expect(theirs.json.api_key).not.toBe(mine.json.api_key);
    const rows = await api.database.query(
      `SELECT encode(key_sealed, 'escape') AS sealed FROM api_credential`,
    );
    for (const { sealed } of rows) {
      expect(sealed).not.toContain(mine.json.api_key.slice(mine.json.api_key.indexOf('_') + 1));
      expect(sealed).not.toContain(tenant.accountId);
    }
  });

  it('does not open for another account when the row is copied; that account gets its own key', async () => {
    const attacker = await api.tenant();
    const theirs = await asUser(api, attacker, nextEmail(), 'another');
    const { api_key: mine } = (await user.get(credentials)).json;
    await theirs.get(credentials);
    await api.database.query(
      `UPDATE api_credential SET key_sealed = (SELECT key_sealed FROM api_credential WHERE account_id = $1)
       WHERE account_id = $2`,
      [tenant.accountId, attacker.accountId],
    );
    const { status, json } = await theirs.get(credentials);
    expect([status, json.api_key.split('_')[0]]).toEqual([200, attacker.accountId]);
    expect(json.api_key).not.toBe(mine);
  });

  it('is a new one after it was disabled', async () => {
    const first = (await user.get(credentials)).json.api_key;
    await api.database.query(`UPDATE api_key SET disabled_at = now() WHERE label = 'api_credentials'`);
    const second = (await user.get(credentials)).json.api_key;
    expect(second).not.toBe(first);
    const { status } = await api.call('GET', '/api/v2/account', {
      headers: { authorization: basic(second, '') },
    });
    expect(status).toBe(200);
  });

  it('is not returned to programs with a key, nor to anonymous callers', async () => {
    const full = await api.tenant('Full Access');
    expect(reasonOf(await full.get(credentials))).toEqual([403, 'unauthorized']);
    expect(reasonOf(await tenant.get(credentials))).toEqual([403, 'unauthorized']);
    expect(reasonOf(await api.call('GET', credentials))).toEqual([401, 'bad_credentials']);
    const { api_key } = (await user.get(credentials)).json;
    const byKey = await api.call('GET', credentials, { headers: { authorization: basic(api_key, '') } });
    expect(reasonOf(byKey)).toEqual([403, 'unauthorized']);
  });
});
