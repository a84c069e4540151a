import { type ReceivedResponse, exchange } from '@certwright/testing';
import { permission, RunningApi, type Tenant } from '../testing/running-api';

const domains = '/api/v3/monitoring/monitored_domains';

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant(permission);
});
afterAll(() => api.stop());

const result = ({ status, json }: ReceivedResponse) => [status, json];
const post = async (name: string, body?: unknown) => await tenant.post(`${domains}/${name}`, body);
const history = async () =>
  (
    await api.database.query<{ action: string; name: string; before: object; after: object }>(
      `SELECT action, name, before, after FROM monitoring_change WHERE account_id = $1 ORDER BY id`,
      [tenant.accountId],
    )
  ).map(({ action, name, before, after }) => [action, name, before, after]);

describe('POST', () => {
  it('creates an object with 201 and Location, and finds it with 200 from then on', async () => {
    const created = await post('.example.com', {});
    const object = { name: '.example.com', enabled: true };
    expect(result(created)).toEqual([201, object]);
    expect(created.headers.location).toBe(`${domains}/.example.com`);
    expect(result(await tenant.get(String(created.headers.location)))).toEqual([200, object]);
    const again = await post('.example.com', {});
    expect(result(again)).toEqual([200, object]);
    expect(again.headers.location).toBeUndefined();
    expect(await history()).toEqual([['created', '.example.com', null, object]]);
  });

  it('sets enabled, and keeps it when it is left out', async () => {
    expect(result(await post('example.com', { enabled: false }))).toEqual([
      201,
      { name: 'example.com', enabled: false },
    ]);
    expect(result(await post('example.com', {}))).toEqual([200, { name: 'example.com', enabled: false }]);
    expect(result(await post('example.com', { enabled: true }))).toEqual([
      200,
      { name: 'example.com', enabled: true },
    ]);
    expect(result(await post('example.com', { name: 'EXAMPLE.com.', enabled: false }))).toEqual([
      200,
      { name: 'example.com', enabled: false },
    ]);
    const [off, on] = [false, true].map((enabled) => ({ name: 'example.com', enabled }));
    expect(await history()).toEqual([
      ['created', 'example.com', null, off],
      ['enabled', 'example.com', off, on],
      ['disabled', 'example.com', on, off],
    ]);
  });

  it.each<[string, Parameters<Tenant['call']>[2]]>([
    ['no body', {}],
    ['an empty body of type JSON', { body: '', headers: { 'content-type': 'application/json' } }],
    ['an empty chunked body', { body: '', headers: { 'transfer-encoding': 'chunked' } }],
    ['an empty object', { body: {} }],
  ])('takes %s', async (_what, sent) => {
    const answered = await tenant.call('POST', `${domains}/example.com`, sent);
    expect(result(answered)).toEqual([201, { name: 'example.com', enabled: true }]);
  });

  it.each<[string, unknown, readonly [field: string, code: string, message: string][]]>([
    ['a number', { enabled: 1 }, [['enabled', 'invalid_value', 'It must be true or false.']]],
    ['null', { enabled: null }, [['enabled', 'invalid_value', 'It must be true or false.']]],
    ['a text', { enabled: 'false' }, [['enabled', 'invalid_value', 'It must be true or false.']]],
    [
      'another name',
      { name: '.example.com' },
      [['name', 'immutable_field', 'It must be "example.com", as in the URL, or absent.']],
    ],
    [
      'a name of another type',
      { name: 5 },
      [['name', 'immutable_field', 'It must be "example.com", as in the URL, or absent.']],
    ],
    ['an unknown member', { status: {} }, [['status', 'invalid_value', 'There is no member status.']]],
    [
      'several faults',
      { name: null, enabled: 'x', y: 1 },
      [
        ['name', 'immutable_field', 'It must be "example.com", as in the URL, or absent.'],
        ['enabled', 'invalid_value', 'It must be true or false.'],
        ['y', 'invalid_value', 'There is no member y.'],
      ],
    ],
  ])('refuses a body with %s', async (_what, body, faults) => {
    const { status, json } = await post('example.com', body);
    expect([status, json.code]).toEqual([400, 'bad_request']);
    expect(json.sub_errors).toEqual(faults.map(([field, code, message]) => ({ field, code, message })));
    expect((await tenant.get(domains)).json).toEqual([]);
  });

  it.each(['[]', '"x"', '5', 'true', '{', 'enabled=false'])('refuses the body %s', async (body) => {
    expect(await post('example.com', body)).toMatchObject({ status: 400, json: { code: 'bad_request' } });
  });
});

describe('POST with expand=status', () => {
  it('returns the member status of a new object and of one that exists', async () => {
    const name = 'example.com';
    const created = await post(`${name}?expand=status&expand=x`, { enabled: false });
    expect(result(created)).toEqual([201, { name, enabled: false, status: expect.any(Object) }]);
    expect(created.headers.location).toBe(`${domains}/${name}`);
    const changed = await post(`${name}?expand=status`, { enabled: true });
    expect(result(changed)).toEqual([200, { name, enabled: true, status: expect.any(Object) }]);
    expect(changed.json).toEqual((await tenant.get(`${domains}/${name}?expand=status`)).json);
    expect(result(await post(`${name}?expand=x`))).toEqual([200, { name, enabled: true }]);
  });
});

describe('GET', () => {
  it('lists all objects by name on one page', async () => {
    for (let at = 0; at < 150; at += 1) await post(`n${String(at).padStart(3, '0')}.example.com`);
    await post('.example.com', { enabled: false });
    const { status, headers, json } = await tenant.get(`${domains}?limit=5&after=n`);
    expect([status, headers.link, json.length]).toEqual([200, undefined, 151]);
    expect(json.slice(0, 2)).toEqual([
      { name: '.example.com', enabled: false },
      { name: 'n000.example.com', enabled: true },
    ]);
    expect(json).toEqual([...json].sort((one, other) => (one.name < other.name ? -1 : 1)));
  });

  it('returns 404 for a name that the account does not have', async () => {
    expect(result(await tenant.get(`${domains}/example.com`))).toEqual([
      404,
      { code: 'not_found', message: 'The account has no monitored domain of this name.' },
    ]);
  });

  it('has the member status only if it is expanded', async () => {
    await post('example.com');
    const plain = { name: 'example.com', enabled: true };
    expect((await tenant.get(`${domains}/example.com?expand=x`)).json).toEqual(plain);
    const expanded = (await tenant.get(`${domains}/example.com?expand=status&expand=x`)).json;
    expect(expanded).toEqual({ ...plain, status: expect.any(Object) });
    expect((await tenant.get(`${domains}?expand=status`)).json).toEqual([expanded]);
  });
});

describe('DELETE', () => {
  it('returns 204 without a body, then 404', async () => {
    await post('example.com', { enabled: false });
    await post('.example.com');
    const deleted = await tenant.delete(`${domains}/EXAMPLE.com`);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect(result(await tenant.delete(`${domains}/example.com`))).toEqual([
      404,
      { code: 'not_found', message: 'The account has no monitored domain of this name.' },
    ]);
    expect((await tenant.get(domains)).json).toEqual([{ name: '.example.com', enabled: true }]);
    expect((await history()).at(-1)).toEqual([
      'deleted',
      'example.com',
      { name: 'example.com', enabled: false },
      null,
    ]);
  });
});

describe('a path of dots', () => {
  it.each(['.', '..', '%2e', '%2E%2e', '...', ''])('%j is the list', async (dots) => {
    await post('example.com');
    // The document describes the path that URL normalization yields.
    const call = async (method: string) =>
      await exchange(api.url, method, `${domains}/${dots}`, {
        headers: { authorization: `Bearer ${tenant.apiKey}` },
      });
    const list = [200, [{ name: 'example.com', enabled: true }]];
    expect(result(await call('GET'))).toEqual(list);
    for (const method of ['POST', 'DELETE']) {
      const answered = await call(method);
      expect(answered).toMatchObject({ status: 405, json: { code: 'method_not_allowed' } });
      expect(answered.headers.allow).toBe('GET, HEAD, OPTIONS');
    }
    expect(result(await tenant.get(domains))).toEqual(list);
  });
});

describe('NAME', () => {
  it.each([
    ['.example.com', '.example.com'],
    ['%2Eexample.com', '.example.com'],
    ['%2eEXAMPLE%2eCOM.', '.example.com'],
    ['WWW.Example.COM', 'www.example.com'],
    ['example.com.', 'example.com'],
    ['b%C3%BCcher.example', undefined],
    ['b%C3%BCcher.com', 'xn--bcher-kva.com'],
    ['B%C3%9CCHER.com', 'xn--bcher-kva.com'],
    ['xn--bcher-kva.com', 'xn--bcher-kva.com'],
    ['%5fdmarc.example.com', '_dmarc.example.com'],
    ['_sip._tcp.example.com', '_sip._tcp.example.com'],
    ['tenant.github.io', 'tenant.github.io'],
    ['example.onion', 'example.onion'],
    ['%F0%9F%98%80.example.com', 'xn--e28h.example.com'],
  ])('%s is stored as %s', async (sent, name) => {
    const { status, json } = await post(sent);
    if (name === undefined)
      return expect([status, json.sub_errors[0].code]).toEqual([400, 'not_public_domain']);
    expect([status, json.name]).toEqual([201, name]);
    expect((await tenant.get(`${domains}/${sent}`)).json.name).toBe(name);
    expect((await tenant.get(`${domains}/${name}`)).json.name).toBe(name);
    expect((await tenant.delete(`${domains}/${sent}`)).status).toBe(204);
  });

  it('with and without a leading dot are two objects', async () => {
    expect((await post('.example.com')).status).toBe(201);
    expect((await post('example.com')).status).toBe(201);
    expect((await tenant.get(domains)).json).toHaveLength(2);
  });

  const wildcard = (name: string) =>
    `"${name}" is a wildcard: use a leading dot to monitor a domain with its sub-domains.`;

  it.each([
    ['*.example.com', 'invalid_dns_name', wildcard('*.example.com')],
    ['%2A.example.com', 'invalid_dns_name', wildcard('*.example.com')],
    ['.*.example.com', 'invalid_dns_name', wildcard('.*.example.com')],
    ['w*.example.com', 'invalid_dns_name', wildcard('w*.example.com')],
    ['..example.com', 'invalid_dns_name', undefined],
    ['example..com', 'invalid_dns_name', undefined],
    ['example.com..', 'invalid_dns_name', undefined],
    ['example.com%2F..', 'invalid_dns_name', undefined],
    ['a%20b.com', 'invalid_dns_name', undefined],
    ['a%09b.com', 'invalid_dns_name', undefined],
    ['%E2%80%AEmoc.elpmaxe', 'invalid_dns_name', undefined],
    ['exa%E2%80%8Bmple.com', 'invalid_dns_name', undefined],
    ['example%E3%80%82com', 'invalid_dns_name', undefined],
    ['-.example.com', 'invalid_dns_name', undefined],
    ['192.0.2.1', 'invalid_dns_name', undefined],
    ['%5B2001:db8::1%5D', 'invalid_dns_name', undefined],
    ['example.com:443', 'invalid_dns_name', undefined],
    ['%252e', 'invalid_dns_name', undefined],
    ["';DROP%20TABLE%20monitored_domain;--", 'invalid_dns_name', undefined],
    [`${'x'.repeat(64)}.com`, 'invalid_dns_name', undefined],
    ['x'.repeat(1_000), 'invalid_dns_name', undefined],
    ['com', 'not_public_domain', undefined],
    ['.com', 'not_public_domain', undefined],
    ['co.uk', 'not_public_domain', undefined],
    ['.CO.UK.', 'not_public_domain', undefined],
    ['github.io', 'not_public_domain', undefined],
    ['.github.io', 'not_public_domain', undefined],
    ['localhost', 'not_public_domain', undefined],
    ['server.internal', 'not_public_domain', undefined],
    ['constructor', 'not_public_domain', undefined],
    ['__proto__', 'not_public_domain', undefined],
  ])('%s is refused by every method as %s', async (name, code, message = expect.any(String)) => {
    for (const method of ['POST', 'GET', 'DELETE']) {
      const answered = await tenant.call(method, `${domains}/${name}`, {});
      expect(result(answered)).toEqual([
        400,
        {
          code: 'bad_request',
          message: 'The request is not valid: see name.',
          sub_errors: [{ field: 'name', code, message }],
        },
      ]);
    }
    expect((await tenant.get(domains)).json).toEqual([]);
    expect(await history()).toEqual([]);
  });

  it.each([
    ['%00.example.com', 400],
    ['%ff.example.com', 400],
    ['%ED%A0%80.example.com', 400],
    ['%zz', 400],
    ['x'.repeat(2_000), 400],
    [`${'x'.repeat(15_000)}`, 400],
    ['a/b', 404],
    ['../settings/x', 404],
  ])('%s is refused with %i', async (name, status) => {
    for (const method of ['POST', 'GET', 'DELETE'])
      expect((await tenant.call(method, `${domains}/${name}`, {})).status).toBe(status);
  });

  it('of an object that exists can be read, changed and deleted after it has become a public suffix', async () => {
    await api.database.query(
      `INSERT INTO monitored_domain (account_id, name, enabled) VALUES ($1, '.github.io', true)`,
      [tenant.accountId],
    );
    expect((await tenant.get(`${domains}/.github.io`)).status).toBe(200);
    expect(result(await post('.github.io', { enabled: false }))).toEqual([
      200,
      { name: '.github.io', enabled: false },
    ]);
    expect((await tenant.delete(`${domains}/.GitHub.io`)).status).toBe(204);
    expect((await tenant.delete(`${domains}/.github.io`)).status).toBe(400);
  });
});

describe('the limit of an account', () => {
  const limit = async (max: number) =>
    await api.database.query(`UPDATE account SET max_monitored_domains = $2 WHERE id = $1`, [
      tenant.accountId,
      max,
    ]);

  it('is 1,000 by default', async () => {
    const [row] = await api.database.query<{ max: number }>(
      `SELECT max_monitored_domains AS max FROM account WHERE id = $1`,
      [tenant.accountId],
    );
    expect(row?.max).toBe(1_000);
  });

  it('refuses a new object with 403; objects over it can still be changed and deleted', async () => {
    await post('a.example.com');
    await post('b.example.com');
    await limit(1);
    expect(result(await post('c.example.com'))).toEqual([
      403,
      {
        code: 'not_allowed_by_plan',
        message:
          'The account has reached its limit of monitored domains, which is 1: delete one, or ask the operator for more.',
      },
    ]);
    expect((await post('a.example.com', { enabled: false })).status).toBe(200);
    expect((await post('b.example.com')).status).toBe(200);
    expect((await tenant.delete(`${domains}/a.example.com`)).status).toBe(204);
    expect((await post('a.example.com')).status).toBe(403);
    expect((await tenant.delete(`${domains}/b.example.com`)).status).toBe(204);
    expect((await post('a.example.com')).status).toBe(201);
    expect((await history()).map(([action]) => action)).toEqual([
      'created',
      'created',
      'disabled',
      'deleted',
      'deleted',
      'created',
    ]);
  });

  it('holds when objects are created at the same time', async () => {
    await limit(5);
    const names = Array.from({ length: 20 }, (_, at) => `n${at}.example.com`);
    const statuses = await Promise.all(names.map(async (name) => (await post(name)).status));
    expect(statuses.filter((status) => status === 201)).toHaveLength(5);
    expect(statuses.filter((status) => status === 403)).toHaveLength(15);
    expect((await tenant.get(domains)).json).toHaveLength(5);
  });
});

it('creates one row for concurrent requests for one name, in any spelling', async () => {
  const spellings = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? '.example.com' : '.EXAMPLE.com.'));
  const statuses = await Promise.all(spellings.map(async (name) => (await post(name)).status));
  expect(statuses.sort()).toEqual([...Array(19).fill(200), 201]);
  expect((await tenant.get(domains)).json).toEqual([{ name: '.example.com', enabled: true }]);
  expect(await history()).toHaveLength(1);
});

it('creates, deletes and creates again at the same time without a 5xx', async () => {
  const calls = Array.from({ length: 30 }, (_, at) =>
    at % 3 === 0 ? tenant.delete(`${domains}/example.com`) : post('example.com', { enabled: at % 2 === 0 }),
  );
  const statuses = new Set((await Promise.all(calls)).map(({ status }) => status));
  expect([...statuses].filter((status) => ![200, 201, 204, 404].includes(status))).toEqual([]);
  const replayed = (await history()).reduce<unknown>((_, [, , , after]) => after, null);
  expect((await tenant.get(domains)).json).toEqual(replayed === null ? [] : [replayed]);
});

describe('permission', () => {
  it.each(['Manage Monitored Domains', 'Full Access'])('"%s" suffices', async (held) => {
    expect((await (await api.tenant(held)).get(domains)).status).toBe(200);
  });

  it.each(['Order and Manage Certificates', 'Search Certificates'])('"%s" does not', async (held) => {
    const other = await api.tenant(held);
    for (const [method, path] of [
      ['GET', domains],
      ['GET', `${domains}/example.com`],
      ['POST', `${domains}/example.com`],
      ['DELETE', `${domains}/example.com`],
      ['POST', `${domains}/.`],
    ] as const)
      expect(result(await other.call(method, path, {}))).toEqual([
        403,
        { code: 'unauthorized', message: 'This API key lacks the permission "Manage Monitored Domains".' },
      ]);
  });
});
