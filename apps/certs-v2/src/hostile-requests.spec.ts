import fc from 'fast-check';
import { certificateRequest, keyPair } from './testing/certificate-request';
import { type ReceivedResponse, RunningApi, type Tenant } from './testing/running-api';

const csr = certificateRequest(keyPair('p256'), { CN: 'example.com' });
const at = '/api/v2/certs/example.com';
const valid = { csr, approval_method: 'dns' };

// Hundreds of requests in one test.
jest.setTimeout(60_000);

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
  tenant = await api.tenant();
});
afterAll(() => api.stop());

const expectRefusal = ({ status, headers, json }: ReceivedResponse): void => {
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
  expect(headers['content-type']).toBe('application/json');
  expect(json).toMatchObject({ reason: expect.any(String), message: expect.any(String) });
  expect(json.message).not.toMatch(/SQL|syntax|at .*\.ts|Error:/);
};

const objects = async () =>
  await api.database.query(`SELECT cn FROM cert_object_v2 WHERE account_id = $1`, [tenant.accountId]);

describe('gets 4xx with an error object, and creates nothing', () => {
  afterEach(async () => expect(await objects()).toEqual([]));

  it('every body that is no object', async () => {
    const anything = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }));
    const members = fc.record({
      csr: anything,
      approval_method: fc.oneof(fc.constant('dns'), anything),
      sans: fc.oneof(anything, fc.array(fc.record({ value: anything, approval_method: anything }))),
      tags: anything,
      type: anything,
      auto_renew: anything,
    });
    const bodies = fc.oneof(
      fc.json({ maxDepth: 6 }),
      fc.string(),
      members.map((value) => JSON.stringify(value)),
    );
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => expectRefusal(await tenant.post(at, body))),
      { numRuns: 150 },
    );
  });

  it('every form that is no object', async () => {
    const names = fc.constantFrom(
      'csr',
      'approval_method',
      'sans',
      'tags',
      'tags.x',
      'tags.',
      'type',
      '__proto__',
    );
    const fields = fc.array(fc.tuple(names, fc.string({ unit: 'grapheme' })));
    await fc.assert(
      fc.asyncProperty(fields, async (pairs) => expectRefusal(await tenant.postForm(at, pairs))),
      { numRuns: 100 },
    );
  });

  it.each([
    ['a NUL in a tag', { ...valid, tags: ['a\0'] }],
    ['a lone surrogate in a tag', { ...valid, tags: ['\ud800'] }],
    ['a NUL in the text of the tags', { ...valid, tags: '["a\\u0000"]' }],
    ['a lone surrogate in the text of the SANs', { ...valid, sans: '[{"value":"\\ud800"}]' }],
    ['__proto__ in the text of the SANs', { ...valid, sans: '[{"__proto__":{}}]' }],
    ['a NUL in the name of a tag', { ...valid, 'tags.\0': '1' }],
    [
      'an address of 100 KB',
      { csr, approval_method: 'email', approver_email: `${'a'.repeat(100_000)}@example.com` },
    ],
    ['a SAN of 100 KB', { ...valid, sans: [{ value: 'a.'.repeat(50_000), approval_method: 'dns' }] }],
    ['a CSR of 200 KB', { ...valid, csr: `${csr}${'\n'.repeat(200_000)}x` }],
    ['an array for everything', { csr: [csr], approval_method: ['dns'], type: [], sans: [[]], tags: [[]] }],
    ['a method of the prototype', { csr, approval_method: 'constructor' }],
    ['a type of the prototype', { ...valid, type: '__proto__' }],
  ])('%s', async (_what, body) => {
    expectRefusal(await tenant.post(at, JSON.stringify(body), { 'idempotency-key': 'hostile' }));
  });

  it.each([
    ['deep nesting', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
    ['a member __proto__', `{"__proto__":{"muted":true},"approval_method":"dns"}`],
    ['half a body', '{"csr":'],
    ['bytes that are not UTF-8', '%ff'],
  ])('%s', async (_what, body) => {
    expectRefusal(await tenant.post(at, body));
    expectRefusal(await tenant.postForm(at, body));
  });

  it('a form of two thousand fields', async () => {
    expectRefusal(
      await tenant.postForm(
        at,
        Array.from({ length: 2_000 }, (_, each) => [`tags.t${each}`, '1']),
      ),
    );
  });
});

it('never repeats or keeps a private key that is sent in place of a CSR', async () => {
  const key = keyPair('rsa2048').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const verbose = await RunningApi.start({ LOG_LEVEL: 'debug' });
  const caller = await verbose.tenant();
  const responses = [
    await caller.post(at, { csr: key, approval_method: 'dns' }),
    await caller.postForm(at, { csr: key, approval_method: 'dns' }),
    await caller.postForm(at, { csr, approval_method: key }),
  ];
  await verbose.stop();
  const secret = key.split('\n')[5] ?? '';
  expect(verbose.logged.length).toBeGreaterThan(0);
  for (const text of [...responses.map((response) => response.text), ...verbose.logged])
    expect(text).not.toContain(secret);
});

it.each([
  ['a NUL in a tag', { ...valid, tags: ['a', 'b\0'] }, 'tags', 'tags[1] contains a NUL character.'],
  [
    'a lone surrogate in a SAN',
    { ...valid, sans: [{ value: '\udc00', approval_method: 'dns' }] },
    'sans',
    'sans[0].value contains a lone surrogate, which is not a character.',
  ],
  ['a NUL in the CSR', { ...valid, csr: `${csr}\0` }, 'csr', 'csr contains a NUL character.'],
])('names the parameter with %s', async (_what, body, param, message) => {
  const { status, json } = await tenant.post(at, body);
  expect([status, json]).toEqual([400, { reason: 'bad_param', param, message }]);
});

it('names the field of a form with a NUL', async () => {
  const { status, json } = await tenant.postForm(at, [
    ['approval_method', 'dns'],
    ['csr', '\0'],
  ]);
  expect([status, json]).toEqual([
    400,
    { reason: 'bad_param', param: 'csr', message: 'csr contains a NUL character.' },
  ]);
});

describe('paths', () => {
  it.each([
    ['an encoded byte that is not UTF-8', '/api/v2/certs/%ff', 400],
    ['an encoded lone surrogate', '/api/v2/certs/%ED%A0%80', 400],
    ['an encoded NUL', '/api/v2/certs/%00', 400],
    ['an address', '/api/v2/certs/192.0.2.1', 400],
    ['two asterisks', '/api/v2/certs/*.*.example.com', 400],
    ['a public suffix', '/api/v2/certs/com', 400],
    ['a name of 300 characters', `/api/v2/certs/${'a.'.repeat(150)}example.com`, 400],
    ['SQL', "/api/v2/certs/'%3B%20DROP%20TABLE%20plan--", 400],
    ['a slash too much', '//api//v2/certs/example.com/', 200],
    ['an umlaut', '/api/v2/certs/b%C3%BCcher.example.com', 200],
  ])('%s', async (_what, path, status) => {
    const response = await tenant.get(path);
    expect([response.status, response.headers['content-type']]).toEqual([status, 'application/json']);
  });

  it('never fail, whatever the name', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1 }), async (name) => {
        const { status } = await tenant.get(`/api/v2/certs/${encodeURIComponent(name.toWellFormed())}`);
        expect([200, 400, 404]).toContain(status);
      }),
      { numRuns: 100 },
    );
  });
});

it('takes expand values of any sort and number', async () => {
  await tenant.post(at, valid);
  const values = [
    '__proto__',
    'constructor.prototype',
    'current.crt.x',
    '...',
    '[]',
    ...Array(700).fill('csr'),
  ];
  const query = values.map((value) => `expand=${encodeURIComponent(value)}`).join('&');
  const { status, json } = await tenant.get(`${at}?${query}&expand[x]=csr`);
  expect([status, json.csr]).toEqual([200, csr]);
});
