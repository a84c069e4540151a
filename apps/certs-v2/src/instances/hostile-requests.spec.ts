import { RunningApi, type Tenant } from '../testing/running-api';
import { activatePending, createObject, pathOf } from './testing/bought';

jest.setTimeout(60_000);

let api: RunningApi;
let tenant: Tenant;
const cn = 'www.example.com';
beforeAll(async () => {
  api = await RunningApi.start({ LOG_LEVEL: 'error' });
  tenant = await api.tenant();
  await createObject(tenant, cn);
  await tenant.post(`${pathOf(cn)}/buy`);
  await activatePending(api, tenant, cn);
});
afterAll(() => api.stop());

/** Everything that a write could change. */
const everything = async () =>
  JSON.stringify(
    await api.database.query(
      `SELECT (SELECT jsonb_agg(to_jsonb(plan)) FROM plan) AS plans, (SELECT jsonb_agg(to_jsonb(issuance) ORDER BY id) FROM issuance) AS issuances,
         (SELECT jsonb_agg(to_jsonb(certificate) ORDER BY id) FROM certificate) AS certificates,
         (SELECT count(*) FROM outbox) AS wake_ups, (SELECT count(*) FROM charge) AS charges`,
    ),
  );

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const json = { 'content-type': 'application/json' };

describe.each(['buy', 'reissue', 'redo_approval', 'revoke', 'instances'])('POST …/%s', (action) => {
  it.each<[string, Record<string, string>, string]>([
    ['an array', json, '[]'],
    ['a text', json, '"all"'],
    ['a number', json, '1'],
    ['__proto__', json, '{"__proto__": {"all": true}}'],
    ['half of a surrogate pair', json, '{"invoice_note": "\\ud800", "all": "\\ud800", "crt": "\\ud800"}'],
    ['a NUL', json, '{"invoice_note": "\\u0000", "all": "\\u0000", "crt": "\\u0000"}'],
    ['deep nesting', json, `{"chain": ${'['.repeat(100)}${']'.repeat(100)}}`],
    ['what is no JSON', json, '{'],
    ['a megabyte', json, `{"invoice_note": "${'x'.repeat(1_000_000)}"}`],
    ['a form that is not UTF-8', form, 'all=%ff&invoice_note=%ff&crt=%ff'],
    ['a form with __proto__', form, '__proto__=1'],
    ['another kind of body', { 'content-type': 'text/plain' }, 'all=1'],
  ])('refuses %s, and changes nothing', async (_, headers, body) => {
    const before = await everything();
    const { status } = await tenant.call('POST', `${pathOf(cn)}/${action}`, { headers, body });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect(await everything()).toBe(before);
  });

  it.each([
    '%2A.%2A.example.com',
    '__proto__',
    '%F0%9F%98%80',
    'a'.repeat(300),
    '.',
    '127.0.0.1',
    'example.com%0D%0A',
  ])('knows no object %p', async (name) => {
    const { status } = await tenant.post(`/api/v2/certs/${name}/${action}`, {});
    expect([400, 404]).toContain(status);
  });
});

describe('values that are none', () => {
  it.each<[string, object, string]>([
    ['buy', { invoice_note: ['a'] }, 'invoice_note'],
    ['buy', { invoice_note: { a: 1 } }, 'invoice_note'],
    ['buy', { email_invoice_to: true }, 'email_invoice_to'],
    ['buy', { days: 1e300 }, 'days'],
    ['buy', { force_new_subscription: [] }, 'force_new_subscription'],
    ['revoke', { all: [true] }, 'all'],
    ['revoke', { all: {} }, 'all'],
    ['revoke', { all: 2 }, 'all'],
    ['instances', { crt: 7 }, 'crt'],
    ['instances', { crt: 'x', chain: [[]] }, 'crt'],
  ])('%s %p is refused by the name of the argument', async (action, body, param) => {
    const before = await everything();
    const { status, json } = await tenant.post(`${pathOf(cn)}/${action}`, body);
    expect([status, json.param]).toEqual([400, param]);
    expect(await everything()).toBe(before);
  });

  it.each(['all=1&all=0', 'all=1&all=1'])('a field that comes twice is refused: %s', async (body) => {
    const { status, json } = await tenant.postForm(`${pathOf(cn)}/revoke`, body);
    expect([status, json.reason, json.param]).toEqual([400, 'bad_param', 'all']);
  });

  it.each([
    'expand[]=crt',
    'expand=__proto__',
    'expand=constructor.crt',
    'expand=crt.crt.crt',
    'expand=%F0%9F%98%80',
    'poll[]=1',
    'expand='.repeat(2),
  ])('GET …?%s does no harm', async (query) => {
    for (const path of [`${pathOf(cn)}/instances`, pathOf(cn)]) {
      expect((await tenant.get(`${path}?${query}`)).status).toBe(200);
    }
  });
});

it('none of it caused an internal error', () => {
  expect(api.logged).toEqual([]);
});
