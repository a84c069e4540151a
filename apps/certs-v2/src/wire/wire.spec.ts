import { certificateRequest, keyPair } from '../testing/certificate-request';
import { RunningApi, type Tenant } from '../testing/running-api';

const csr = certificateRequest(keyPair('p256'), { CN: 'example.com' });
const at = '/api/v2/certs/example.com';

// A machine that is busy with other specs must not fail these.
jest.setTimeout(30_000);

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
  tenant = await api.tenant();
});
afterAll(() => api.stop());

describe('every response is JSON with exactly that Content-Type', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const json = { 'content-type': 'application/json' };

  it.each([
    ['an object that does not exist', 'GET', at, {}, 200, undefined],
    ['the list', 'GET', '/api/v2/certs', {}, 200, undefined],
    ['an unknown path', 'GET', '/api/v2/nothing', {}, 404, 'not_found'],
    ['another method', 'DELETE', at, {}, 405, 'method_not_allowed'],
    ['no credentials', 'GET', at, { headers: { authorization: '' } }, 401, 'bad_credentials'],
    [
      'two Authorization headers',
      'GET',
      at,
      { headers: { authorization: ['Basic eA==', 'Basic eTo='] } },
      400,
      'bad_request',
    ],
    ['broken percent-encoding', 'GET', '/api/v2/certs/%zz', {}, 400, 'bad_request'],
    ['a name that is none', 'GET', '/api/v2/certs/co.uk', {}, 400, 'bad_cn'],
    ['a required parameter left out', 'POST', at, { body: '', headers: form }, 400, 'missing_param'],
    ['a POST without body', 'POST', at, {}, 400, 'missing_param'],
    ['half a JSON body', 'POST', at, { body: '{"csr"', headers: json }, 400, 'bad_request'],
    ['an array', 'POST', at, { body: '[]', headers: json }, 400, 'bad_request'],
    [
      'plain text',
      'POST',
      at,
      { body: 'x', headers: { 'content-type': 'text/plain' } },
      415,
      'unsupported_media_type',
    ],
    ['300 KiB', 'POST', at, { body: `csr=${'x'.repeat(300_000)}`, headers: form }, 413, 'request_too_large'],
  ])('%s', async (_what, method, path, sent, status, reason) => {
    const response = await tenant.call(method, path, sent);
    expect([response.status, response.json?.reason]).toEqual([status, reason]);
    expect(response.headers['content-type']).toBe('application/json');
    if (status >= 400) expect(response.json.message).toEqual(expect.any(String));
  });
});

describe('an error object', () => {
  it('names only the invalid parameter', async () => {
    const { json } = await tenant.postForm(at, { csr, approval_method: 'email' });
    expect(json).toEqual({
      reason: 'missing_param',
      message: 'approver_email is required here.',
      param: 'approver_email',
    });
    expect((await tenant.get('/api/v2/nothing')).json).toEqual({
      reason: 'not_found',
      message: expect.any(String),
    });
  });

  it('has retry_after in seconds, as the header does, where a retry makes sense', async () => {
    const slow = await RunningApi.start({ READS_PER_S: '1' });
    const caller = await slow.tenant();
    const responses = await Promise.all(Array.from({ length: 8 }, () => caller.get('/api/v2/certs')));
    await slow.stop();
    const limited = responses.find(({ status }) => status === 429);
    expect(limited?.json).toMatchObject({ reason: 'rate_limited', retry_after: expect.any(Number) });
    expect(limited?.headers['retry-after']).toBe(String(limited?.json.retry_after));
  });
});

describe('a form', () => {
  it('means the same as JSON', async () => {
    const sans = [{ type: 'dns', value: 'a.example.com', approval_method: 'http' }];
    const [cn, other] = ['form.example.com', 'json.example.com'];
    const csrOf = (name: string) => certificateRequest(keyPair('p256'), { CN: name });
    const common = { approval_method: 'email', approver_email: 'admin@example.com' };
    const byForm = await tenant.postForm(`/api/v2/certs/${cn}`, {
      ...common,
      csr: csrOf(cn),
      auto_renew: '0',
      sans: JSON.stringify(sans),
      tags: '["a","ü"]',
    });
    const byJson = await tenant.post(`/api/v2/certs/${other}`, {
      ...common,
      csr: csrOf(other),
      auto_renew: false,
      sans,
      tags: ['a', 'ü'],
    });
    expect([byForm.status, byJson.status]).toEqual([200, 200]);
    const alike = ({
      cn: _cn,
      dn: _dn,
      pubkey_hash: _hash,
      current_download: _url,
      ...rest
    }: object & {
      cn?: string;
      dn?: object;
      pubkey_hash?: string;
      current_download?: string;
    }) => rest;
    expect(alike(byForm.json)).toEqual(alike(byJson.json));
    expect(byForm.json).toMatchObject({ auto_renew: false, tags: ['a', 'ü'] });
  });

  it('with a repeated field is rejected as ambiguous', async () => {
    const fields: [string, string][] = [
      ['csr', csr],
      ['approval_method', 'dns'],
      ['approval_method', 'http'],
    ];
    const { status, json } = await tenant.postForm(at, fields);
    expect([status, json.reason, json.param]).toEqual([400, 'bad_param', 'approval_method']);
  });

  it('ignores query parameters other than those of the response', async () => {
    const { json } = await tenant.postForm(`${at}?approval_method=dns&muted=1`, { csr });
    expect([json.reason, json.param]).toEqual(['missing_param', 'approval_method']);
  });
});

it('credentials are the API key as user name with an empty password', async () => {
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
  expect((await tenant.get('/api/v2/certs', basic(`${tenant.apiKey}:`))).status).toBe(200);
  expect((await tenant.get('/api/v2/certs', basic(`${tenant.apiKey}:x`))).json.reason).toBe(
    'bad_credentials',
  );
  const reader = await api.tenant('Search Certificates');
  expect((await reader.get('/api/v2/certs')).json).toMatchObject({ reason: 'unauthorized' });
});
