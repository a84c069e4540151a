import { eventually, type ReceivedResponse, type SeverableLink, severableLink } from '@certwright/testing';
import { FakeGateway, refusal } from '../testing/gateway';
import { RunningApi, type Tenant } from '../testing/running-api';
import { maxRequestsOfAccount } from './dns-gateway';

const path = '/api/v3/account/dns_integrations';
const body = { provider: 'desec', description: 'Ours', credentials: { type: 'bearer', token: 't' } };
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

let gateway: FakeGateway;
let link: SeverableLink;
let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  gateway = await FakeGateway.open();
  api = await RunningApi.start(async (databaseUrl) => {
    const url = new URL(databaseUrl);
    link = await severableLink({ host: url.hostname, port: Number(url.port) });
    url.port = String(link.port);
    return { ...gateway.settings, DATABASE_URL: url.href };
  });
});
beforeEach(async () => {
  gateway.reset();
  tenant = await api.tenant('Full Access');
});
afterAll(async () => {
  await api.stop();
  await link.close();
  await gateway.close();
});

const create = async (changes: object = {}): Promise<ReceivedResponse> =>
  await tenant.post(path, { ...body, ...changes });
const faultsOf = ({ json }: ReceivedResponse) =>
  json.sub_errors.map(({ field, code }: Record<string, string>) => `${field} ${code}`);
const row = async (id: number) => {
  const [found] = await api.database.query(
    `SELECT handle, state, problem, failures, leased_until, deleted_at, zones_due_at > now() AS later
     FROM dns_integration WHERE id = $1`,
    [id],
  );
  return found ?? {};
};

describe('GET /api/v3/account/dns_providers', () => {
  it('returns the response of the gateway for this account', async () => {
    const response = await tenant.get('/api/v3/account/dns_providers');
    expect(response).toMatchObject({ status: 200, json: gateway.description });
  });

  it('returns 503 with Retry-After while the gateway is unavailable', async () => {
    gateway.willFail('description', 'response is lost', 'response is lost');
    const response = await tenant.get('/api/v3/account/dns_providers');
    expect(response).toMatchObject({ status: 503, json: { code: 'service_outage' } });
    expect(response.headers).toMatchObject({ 'retry-after': '30' });
  });

  it('waits for its turn beyond the limit of the gateway', async () => {
    gateway.willFail('description', refusal('rate_limited', 'Not now.'));
    const response = await tenant.get('/api/v3/account/dns_providers');
    expect(response).toMatchObject({ status: 200, json: gateway.description });
  });

  it('does not use up the limit of the gateway, however often an account requests it', async () => {
    const before = gateway.count('description');
    const get = async () => await tenant.get('/api/v3/account/dns_providers');
    for (const { status } of await Promise.all(Array.from({ length: 20 }, get))) expect(status).toBe(200);
    expect((await get()).json).toEqual(gateway.description);
    expect(gateway.count('description') - before).toBe(1);
  });
});

describe('POST /api/v3/account/dns_integrations', () => {
  it('returns 201 with the location and the integration, and keeps its zones', async () => {
    const created = await create();

    expect(created.status).toBe(201);
    expect(created.headers).toMatchObject({ location: `${path}/${created.json.id}` });
    expect(created.json).toEqual({
      id: expect.any(Number),
      provider: 'desec',
      description: 'Ours',
      state: 'ok',
      problem: null,
      checked_at: expect.stringMatching(rfc3339),
      created_at: expect.stringMatching(rfc3339),
    });
    const { id } = created.json;
    expect((await tenant.get(`${path}/${id}`)).json).toEqual(created.json);
    expect((await tenant.get(path)).json).toEqual([created.json]);
    const zones = [{ id: 'z1', name: 'example.com' }];
    expect((await tenant.get(`${path}/${id}?expand=zones`)).json).toEqual({ ...created.json, zones });
    expect((await tenant.get(`${path}?expand=zones&expand=x`)).json).toEqual([{ ...created.json, zones }]);
    expect((await tenant.post(`${path}?expand=zones`, body)).json.zones).toEqual(zones);
  });

  it('has the handle sealed for the account and the id that it is stored under', async () => {
    const { id } = (await create()).json;
    const [[handle, made] = []] = [...gateway.handles];
    expect(await row(id)).toMatchObject({ handle, leased_until: null, later: true });
    expect(made).toMatchObject({ account: tenant.accountId, integration_id: String(id), provider: 'desec' });
  });

  it('hands sealed credentials on as they are', async () => {
    const credentials = { type: 'sealed', jwe: 'eyJ.a-b.c_d.ef.gh' };
    expect((await create({ credentials })).status).toBe(201);
    expect([...gateway.handles.values()][0]?.credentials).toEqual(credentials);
  });

  it('stores the handle that came last, when listing the zones brought a new one', async () => {
    gateway.reseals = true;
    const { id } = (await create()).json;
    expect(gateway.handles.has((await row(id))['handle'])).toBe(true);
  });

  it('keeps an integration whose zones cannot be listed now, and has them listed soon', async () => {
    gateway.willFail('get_zones', refusal('provider_rate_limited', 'Patience.', 'fake.later'));
    const created = await tenant.post(`${path}?expand=zones`, body);
    expect(created).toMatchObject({ status: 201, json: { state: 'ok', zones: [] } });
    expect(await row(created.json.id)).toMatchObject({ handle: 'fake.later', later: false });
    const wakeUps = await api.database.query(`SELECT payload FROM outbox WHERE job = 'keep-integration'`);
    expect(wakeUps).toContainEqual({ payload: { integrationId: String(created.json.id) } });
  });

  it('reports all errors at once, without a request to the gateway', async () => {
    const wrong = await create({ provider: 'mine', description: 'a\nb', credentials: 7, colour: 'red' });
    expect(wrong).toMatchObject({ status: 400, json: { code: 'bad_request' } });
    expect(faultsOf(wrong).sort()).toEqual([
      'colour invalid_value',
      'credentials invalid_value',
      'description invalid_value',
      'provider invalid_value',
    ]);
    expect(faultsOf(await tenant.post(path, {}))).toEqual([
      'provider missing_field',
      'credentials missing_field',
    ]);
    expect((await tenant.post(path, [])).json.code).toBe('bad_request');
    expect(gateway.requests).toEqual([]);
  });

  const malformed: readonly [string, unknown, readonly string[]][] = [
    ['without a type', { token: 't' }, ['credentials.type missing_field']],
    ['of an unknown type', { type: 'password', token: 't' }, ['credentials.type invalid_value']],
    ['with a member that is no string', { type: 'bearer', token: 7 }, ['credentials invalid_value']],
    [
      'sealed, with a secret beside',
      { type: 'sealed', jwe: 'a.b.c.d.e', token: 't' },
      ['credentials invalid_value'],
    ],
    ['sealed without a JWE', { type: 'sealed' }, ['credentials.jwe missing_field']],
    ['sealed into something else', { type: 'sealed', jwe: 'a.b.c' }, ['credentials.jwe invalid_value']],
    ['null', null, ['credentials invalid_value']],
  ];
  it.each(malformed)('refuses credentials %s', async (_what, credentials, faults) => {
    const response = await create({ credentials });
    expect(response.status).toBe(400);
    expect(faultsOf(response)).toEqual(faults);
    expect(gateway.requests).toEqual([]);
  });

  it('reports an error in `credentials` when the provider rejects them, and stores nothing', async () => {
    const response = await create({ credentials: { type: 'bearer', token: 'wrong' } });
    expect(response).toMatchObject({ status: 400, json: { code: 'bad_request' } });
    expect(response.json.sub_errors).toEqual([
      { field: 'credentials', code: 'invalid_value', message: 'deSEC refuses the token.' },
    ]);
    expect((await tenant.get(path)).json).toEqual([]);
  });

  it('names the member of the credentials that the gateway misses', async () => {
    expect(faultsOf(await create({ credentials: { type: 'bearer' } }))).toEqual([
      'credentials.token missing_field',
    ]);
  });

  it('reports a server of the customer that does not respond as an error of the credentials', async () => {
    const unavailable = refusal('provider_unavailable', 'ns.example.com port 8081 did not respond.');
    gateway.willFail('make_integration', unavailable, unavailable);
    expect(faultsOf(await create({ provider: 'powerdns' }))).toEqual(['credentials invalid_value']);
    expect(await create()).toMatchObject({ status: 503, json: { code: 'provider_unavailable' } });
  });

  const outages: readonly [string, string, number, string][] = [
    ['provider_rate_limited', 'provider_rate_limited', 503, '60'],
    ['provider_unavailable', 'provider_unavailable', 503, '60'],
    ['service_outage', 'service_outage', 503, '30'],
    ['timeout', 'service_outage', 503, '30'],
    ['internal_error', 'service_outage', 503, '30'],
  ];
  it.each(outages)(
    'maps %s of the gateway to %s, %i and Retry-After',
    async (code, expected, status, after) => {
      gateway.willFail('make_integration', refusal(code, 'Not now.'));
      const response = await create();
      expect(response).toMatchObject({ status, json: { code: expected } });
      expect(response.headers).toMatchObject({ 'retry-after': after });
    },
  );

  it('waits while other accounts use up the limit of the gateway', async () => {
    gateway.willFail('make_integration', refusal('rate_limited', 'Not now.'));
    expect((await create()).status).toBe(201);
    expect(gateway.count('make_integration')).toBe(2);
  });

  it('returns 503 when the response is lost; an OAuth code is sent once, a token twice', async () => {
    gateway.willFail('make_integration', 'response is lost', 'response is lost', 'response is lost');
    const code = { type: 'oauth_code', code: 'c' };
    expect(await create({ credentials: code })).toMatchObject({
      status: 503,
      json: { code: 'service_outage' },
    });
    expect(gateway.count('make_integration')).toBe(1);
    expect((await create()).status).toBe(503);
    expect(gateway.count('make_integration')).toBe(3);
    expect((await tenant.get(path)).json).toEqual([]);
  });

  it('reports only to the operator that the gateway rejects our identity', async () => {
    gateway.willFail('make_integration', refusal('unauthorized', 'orders-v3 may not use this endpoint.'));
    const response = await create();
    expect(response).toMatchObject({ status: 500, json: { code: 'internal_error' } });
    expect(response.text).not.toContain('orders-v3');
  });
});

describe('GET /api/v3/account/dns_integrations/{ID}/zones', () => {
  const zonesOf = async (id: number) => await tenant.get(`${path}/${id}/zones`);

  it('queries the provider again, and stores the result', async () => {
    const { id } = (await create()).json;
    gateway.zones = [
      { id: 'z3', name: 'b.example.net' },
      { id: 'z2', name: 'a.example.net' },
    ];
    gateway.reseals = true;
    const response = await zonesOf(id);
    expect(response.status).toBe(200);
    expect(response.json).toEqual([
      { id: 'z2', name: 'a.example.net' },
      { id: 'z3', name: 'b.example.net' },
    ]);
    expect((await tenant.get(`${path}/${id}?expand=zones`)).json.zones).toEqual(response.json);
    const { handle, leased_until } = await row(id);
    expect(gateway.handles.has(handle)).toBe(true);
    expect(leased_until).toBeNull();
  });

  it('marks an integration that the provider refuses, keeps the new handle, and heals', async () => {
    const { id } = (await create()).json;
    const [[, made] = []] = [...gateway.handles];
    if (made !== undefined) gateway.handles.set('fake.rotated', made);
    gateway.willFail('get_zones', refusal('provider_auth_failed', 'The token was revoked.', 'fake.rotated'));
    expect(await zonesOf(id)).toMatchObject({ status: 502, json: { code: 'provider_auth_failed' } });
    expect((await tenant.get(`${path}/${id}`)).json).toMatchObject({
      state: 'failing',
      problem: 'The token was revoked.',
    });
    expect(await row(id)).toMatchObject({ handle: 'fake.rotated', failures: 1, leased_until: null });

    expect((await zonesOf(id)).status).toBe(200);
    expect((await tenant.get(`${path}/${id}`)).json).toMatchObject({ state: 'ok', problem: null });
    expect(await row(id)).toMatchObject({ failures: 0 });
  });

  it('stores the new handle after a database outage: the provider accepts no other one', async () => {
    const { id } = (await create()).json;
    gateway.reseals = true;
    const outage = Promise.withResolvers<void>();
    gateway.willFail('get_zones', { until: outage.promise });
    const listing = zonesOf(id);
    await eventually(() => expect(gateway.count('get_zones')).toBe(2));
    link.cut();
    outage.resolve();
    expect(await listing).toMatchObject({ status: 503, json: { code: 'service_outage' } });
    link.restore();
    await eventually(async () => {
      const { handle, leased_until } = await row(id);
      expect({ isKnown: gateway.handles.has(handle), leased_until }).toEqual({
        isKnown: true,
        leased_until: null,
      });
    });
  });

  it('stores the new handle when the disk of the database is no longer full', async () => {
    const { id } = (await create()).json;
    gateway.reseals = true;
    const listed = Promise.withResolvers<void>();
    gateway.willFail('get_zones', { until: listed.promise });
    const listing = zonesOf(id);
    await eventually(() => expect(gateway.count('get_zones')).toBe(2));
    await api.database.query(
      `CREATE FUNCTION disk_full() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
       CREATE TRIGGER disk_full BEFORE UPDATE ON dns_integration EXECUTE FUNCTION disk_full()`,
    );
    listed.resolve();
    expect(await listing).toMatchObject({ status: 503, json: { code: 'service_outage' } });
    await api.database.query(`DROP FUNCTION disk_full CASCADE`);
    await eventually(async () => {
      const { handle, leased_until } = await row(id);
      expect({ isKnown: gateway.handles.has(handle), leased_until }).toEqual({
        isKnown: true,
        leased_until: null,
      });
    });
  });

  it('keeps the state while the gateway or the provider is unavailable', async () => {
    const { id } = (await create()).json;
    gateway.willFail(
      'get_zones',
      refusal('provider_unavailable', 'Unavailable.'),
      'response is lost',
      'response is lost',
    );
    expect((await zonesOf(id)).json.code).toBe('provider_unavailable');
    expect((await zonesOf(id)).json.code).toBe('service_outage');
    expect((await tenant.get(`${path}/${id}`)).json).toMatchObject({ state: 'ok', problem: null });
  });

  it('reports that it must be created again when the gateway cannot open it any more', async () => {
    const { id } = (await create()).json;
    gateway.handles.clear();
    expect(await zonesOf(id)).toMatchObject({ status: 409, json: { code: 'conflict' } });
    expect((await tenant.get(`${path}/${id}`)).json.state).toBe('failing');
  });

  it('waits for the holder of the lease, and returns the previous list when that takes long', async () => {
    const { id } = (await create()).json;
    const hold = async (ms: number) =>
      await api.database.query(
        `UPDATE dns_integration SET leased_until = clock_timestamp() + $2::int * interval '1 ms' WHERE id = $1`,
        [id, ms],
      );
    gateway.zones = [];
    await hold(60_000);
    expect((await zonesOf(id)).json).toEqual([{ id: 'z1', name: 'example.com' }]);
    expect(gateway.count('get_zones')).toBe(1);
    await hold(300);
    expect((await zonesOf(id)).json).toEqual([]);
  });
});

describe('DELETE /api/v3/account/dns_integrations/{ID}', () => {
  it('returns 204, and 404 from then on', async () => {
    const { id } = (await create()).json;
    expect(await tenant.delete(`${path}/${id}`)).toMatchObject({ status: 204, text: '' });
    for (const response of [
      await tenant.delete(`${path}/${id}`),
      await tenant.get(`${path}/${id}`),
      await tenant.get(`${path}/${id}/zones`),
    ]) {
      expect(response).toMatchObject({ status: 404, json: { code: 'not_found' } });
    }
    expect((await tenant.get(path)).json).toEqual([]);
    // The worker removes its records with it.
    expect(await row(id)).toMatchObject({ handle: expect.any(String), deleted_at: expect.any(Date) });
  });
});

describe('an account with slow providers', () => {
  it('does not keep other accounts from the gateway, and may try again later', async () => {
    const released = new AbortController();
    const until = new Promise((resolve) => released.signal.addEventListener('abort', resolve));
    const other = await api.tenant('Full Access');
    gateway.willFail('make_integration', ...Array.from({ length: 40 }, () => ({ until })));
    let ended = 0;
    const creations = Array.from({ length: 40 }, async () => {
      const response = await create();
      ended += 1;
      return response;
    });
    await eventually(() => expect(ended).toBe(40 - maxRequestsOfAccount));
    expect((await other.get('/api/v3/account/dns_providers')).status).toBe(200);
    released.abort();
    const refused = (await Promise.all(creations)).filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(40 - maxRequestsOfAccount);
    expect(refused[0]).toMatchObject({ status: 429, json: { code: 'rate_limited' } });
    expect(refused[0]?.headers).toHaveProperty('retry-after');
    expect((await create()).status).toBe(201);
  });

  it('lists zones later too', async () => {
    const ids: number[] = [];
    for (let made = 0; made <= maxRequestsOfAccount; made += 1) ids.push((await create()).json.id);
    const released = new AbortController();
    const until = new Promise((resolve) => released.signal.addEventListener('abort', resolve));
    gateway.willFail('get_zones', ...ids.map(() => ({ until })));
    const [last = 0, ...first] = ids;
    const before = gateway.count('get_zones');
    const lists = first.map(async (id) => await tenant.get(`${path}/${id}/zones`));
    await eventually(() => expect(gateway.count('get_zones')).toBe(before + maxRequestsOfAccount));
    expect(await tenant.get(`${path}/${last}/zones`)).toMatchObject({ status: 429 });
    expect(await row(last)).toMatchObject({ leased_until: null });
    released.abort();
    for (const { status } of await Promise.all(lists)) expect(status).toBe(200);
    expect((await tenant.get(`${path}/${last}/zones`)).status).toBe(200);
  });
});

describe('another account', () => {
  const probes: readonly [string, (of: Tenant, id: number) => Promise<ReceivedResponse>][] = [
    ['GET', (of, id) => of.get(`${path}/${id}?expand=zones`)],
    ['DELETE', (of, id) => of.delete(`${path}/${id}`)],
    ['GET zones', (of, id) => of.get(`${path}/${id}/zones`)],
  ];

  it.each(probes)(
    'gets the same response to %s as for one that does not exist, with the same statements',
    async (_what, probe) => {
      const { id } = (await create()).json;
      const other = await api.tenant('Full Access');
      const requestsBefore = gateway.requests.length;
      const [foreign, missing] = [await probe(other, id), await probe(other, 12)];
      expect(foreign.status).toBe(404);
      expect(foreign.text).toBe(missing.text);
      const statements = async (of: number) => await api.statementsOf(() => probe(other, of));
      expect(await statements(id)).toEqual(await statements(12));
      expect(gateway.requests).toHaveLength(requestsBefore);
      expect((await tenant.get(`${path}/${id}`)).status).toBe(200);
      expect((await other.get(path)).json).toEqual([]);
    },
  );
});

it.each(['0', '-1', '1.5', 'x', '9007199254740992', '%00', '__proto__'])(
  'returns 400 or 404 to the id %s',
  async (id) => {
    for (const response of [
      await tenant.get(`${path}/${id}`),
      await tenant.delete(`${path}/${id}`),
      await tenant.get(`${path}/${id}/zones`),
    ]) {
      expect([400, 404]).toContain(response.status);
      expect(response.json).toHaveProperty('code');
    }
  },
);

it('needs Full Access: who has an integration decides how names are approved', async () => {
  const orders = await api.tenant('Order and Manage Certificates');
  expect(await orders.get(path)).toMatchObject({ status: 403, json: { code: 'unauthorized' } });
  expect((await orders.post(path, body)).status).toBe(403);
  expect((await orders.get('/api/v3/account/dns_providers')).status).toBe(403);
  expect((await api.call('GET', path)).status).toBe(401);
});
