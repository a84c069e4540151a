import fc from 'fast-check';
import { certificateRequest, keyPair } from './testing/certificate-request';
import { RunningApi, type Tenant } from './testing/running-api';

const csr = certificateRequest(keyPair('p256'), { dnsNames: ['example.com'] });

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
  tenant = await api.tenant();
});
afterAll(() => api.stop());

it('returns 4xx with an error object to every body that is no order', async () => {
  const bodies = fc.oneof(
    fc.json({ maxDepth: 6 }),
    fc.string(),
    fc
      .record({
        name: fc.jsonValue(),
        dns_names: fc.array(fc.jsonValue()),
        csr: fc.jsonValue(),
        cluster: fc.string(),
      })
      .map((value) => JSON.stringify(value)),
  );
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const { status, json } = await tenant.post('/api/v3/orders', body);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
      expect(json).toMatchObject({ code: expect.any(String), message: expect.any(String) });
    }),
    { numRuns: 150 },
  );
});

it.each([
  ['a NUL in a name', '{"name":"a\\u0000b","dns_names":["example.com"]}'],
  ['a NUL in a cluster', '{"cluster":"\\u0000","dns_names":["example.com"]}'],
  ['a lone surrogate in a name', '{"name":"\\ud800","dns_names":["example.com"]}'],
  ['a lone surrogate in a member name', '{"\\udfff":1}'],
  ['deep nesting', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
  ['a member __proto__', '{"__proto__":{"muted":true},"dns_names":["example.com"]}'],
  ['half a body', '{"name":'],
  ['nothing', ''],
])('returns 400 for %s', async (_what, body) => {
  const response = await tenant.post('/api/v3/orders', body, { 'idempotency-key': 'hostile' });
  expect(response.status).toBe(400);
  expect(response.json.message).not.toMatch(/SQL|syntax|at .*\.ts|Error:/);
});

it('names every member that contains a NUL or a lone surrogate', async () => {
  const { status, json } = await tenant.post('/api/v3/orders', {
    name: 'a\0b',
    dns_names: ['example.com', '\ud800.example.com', '\0'],
    cluster: 'web',
  });
  expect([status, json]).toEqual([
    400,
    {
      code: 'bad_request',
      message: 'The request is not valid: see name, dns_names.',
      sub_errors: [
        { field: 'name', code: 'invalid_value', message: 'name contains a NUL character.' },
        {
          field: 'dns_names',
          code: 'invalid_value',
          message: 'dns_names[1] contains a lone surrogate, which is not a character.',
        },
      ],
    },
  ]);
});

it.each([
  [
    'a body of 300 KiB',
    'POST',
    '/api/v3/orders',
    { body: JSON.stringify({ name: 'x'.repeat(300_000) }) },
    413,
  ],
  [
    'a form',
    'POST',
    '/api/v3/orders',
    { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    415,
  ],
  ['another method', 'PUT', '/api/v3/orders/a', { body: {} }, 405],
  ['an unknown path', 'GET', '/api/v3/order', {}, 404],
  ['broken percent-encoding', 'GET', '/api/v3/orders/%zz', {}, 400],
  ['an encoded byte that is not UTF-8', 'GET', '/api/v3/orders/%ff', {}, 400],
  ['an encoded lone surrogate', 'GET', '/api/v3/orders/%ED%A0%80', {}, 400],
  ['an encoded NUL', 'GET', '/api/v3/orders/%00', {}, 400],
  ['an encoded dot', 'GET', '/api/v3/orders/%2e%2e', {}, 404],
  ['a name of 256 characters', 'GET', `/api/v3/orders/${'x'.repeat(256)}`, {}, 404],
  ['SQL', 'GET', "/api/v3/orders/'%3B%20DROP%20TABLE%20plan--", {}, 404],
])('returns 4xx for %s: %s %s', async (_what, method, path, sent, status) => {
  const response = await tenant.call(method, path, sent);
  expect(response.status).toBe(status);
  expect(response.json.code).toEqual(expect.any(String));
});

it('returns 400 for two Authorization headers, as it is unknown which one applies', async () => {
  const authorization = [`Bearer ${tenant.apiKey}`, `Bearer ${tenant.apiKey}`];
  const { status, json } = await api.call('GET', '/api/v3/orders', { headers: { authorization } });
  expect([status, json]).toEqual([
    400,
    { code: 'bad_request', message: 'The request has more than one Authorization header.' },
  ]);
});

it('returns 405 with Allow', async () => {
  const response = await tenant.call('PATCH', '/api/v3/orders/a', { body: {} });
  expect(response.headers.allow).toBe('DELETE, GET, HEAD, OPTIONS, POST');
});

it('never fails on a path, whatever the name', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1 }), async (name) => {
      const path = `/api/v3/orders/${encodeURIComponent(name.toWellFormed())}`;
      const { status } = await tenant.get(path);
      expect([200, 400, 404]).toContain(status);
    }),
    { numRuns: 100 },
  );
});

it('takes expand values of any sort and number', async () => {
  await tenant.post('/api/v3/orders', { dns_names: ['example.com'], csr });
  const values = [
    '__proto__',
    'constructor.prototype',
    'current_cert.leaf.x',
    '%00',
    '...',
    '[]',
    ...Array(700).fill('csr'),
  ];
  const query = values
    .filter((value) => value !== '%00')
    .map((value) => `expand=${encodeURIComponent(value)}`);
  const response = await tenant.get(`/api/v3/orders/example.com?${query.join('&')}&expand[x]=csr`);
  expect(response.status).toBe(200);
  expect(response.json.csr).toBe(csr);
  expect(response.json).not.toHaveProperty('current_cert');
});

it('tolerates a trailing slash and doubled slashes', async () => {
  expect((await tenant.get('/api/v3/orders/')).status).toBe(200);
  expect((await tenant.get('//api//v3/orders/example.com/')).status).toBe(200);
});
