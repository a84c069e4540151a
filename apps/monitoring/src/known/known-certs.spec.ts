import type { ReceivedResponse } from '@certwright/testing';
import { certificatePem, csrPem, precertificatePem, tbsSha256 } from '../testing/fixtures';
import { permission, RunningApi, type Tenant } from '../testing/running-api';

const certs = '/api/v3/monitoring/known_certs';

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
const postPem = async (body: string) =>
  await tenant.post(certs, body, { 'content-type': 'application/x-pem-file' });
const derOf = (pem: string) => Buffer.from(pem.replace(/-----.*-----|\n/g, ''), 'base64');

it('takes a precertificate; the certificate and the digest are the same object', async () => {
  const created = await postPem(precertificatePem);
  expect(result(created)).toEqual([
    201,
    { id: expect.any(Number), tbs_sha256: tbsSha256, note: '', created_at: expect.any(String) },
  ]);
  expect(result(await postPem(certificatePem))).toEqual([200, created.json]);
  const response = await fetch(api.url + certs, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/pkix-cert' },
    body: derOf(certificatePem),
  });
  expect([response.status, await response.json()]).toEqual([200, created.json]);
  const noted = await tenant.post(certs, { tbs_sha256: tbsSha256.toUpperCase(), note: 'CDN' });
  expect(result(noted)).toEqual([200, { ...created.json, note: 'CDN' }]);
  expect(result(await tenant.get(certs))).toEqual([200, [noted.json]]);
  expect((await tenant.delete(`${certs}/${created.json.id}`)).status).toBe(204);
  expect(result(await tenant.delete(`${certs}/${created.json.id}`))).toEqual([
    404,
    { code: 'not_found', message: 'The account has no known certificate with this id.' },
  ]);
  expect(
    await api.database.query(
      `SELECT object, action, before, after FROM monitoring_change WHERE account_id = $1 ORDER BY id`,
      [tenant.accountId],
    ),
  ).toEqual([
    { object: 'known_cert', action: 'created', before: null, after: created.json },
    { object: 'known_cert', action: 'changed', before: created.json, after: noted.json },
    { object: 'known_cert', action: 'deleted', before: noted.json, after: null },
  ]);
});

it.each([
  ['a CSR', csrPem],
  ['a chain', certificatePem + precertificatePem],
  ['no PEM', 'hello'],
  ['nothing', ''],
  ['a cut certificate', certificatePem.replace(/\n[^-]+\n-/, (body) => `${body.slice(0, 129)}\n-`)],
  ['something else in PEM', certificatePem.replace(/\n[^-]+\n-/, '\nMAMCAQA=\n-')],
])('refuses %s', async (_what, body) => {
  const { status, json } = await postPem(body);
  expect([status, json.sub_errors]).toEqual([
    400,
    [{ field: 'certificate', code: 'invalid_value', message: expect.any(String) }],
  ]);
});

it('refuses DER with a byte after its end', async () => {
  const response = await fetch(api.url + certs, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/pkix-cert' },
    body: Buffer.concat([derOf(certificatePem), Buffer.of(0)]),
  });
  expect(response.status).toBe(400);
});

it.each<[string, unknown, string]>([
  ['no digest', {}, 'tbs_sha256 missing_field'],
  ['a digest that is none', { tbs_sha256: 'x'.repeat(64) }, 'tbs_sha256 invalid_value'],
  ['an unknown member', { tbs_sha256: tbsSha256, serial: 1 }, 'serial invalid_value'],
])('refuses a body with %s', async (_what, body, fault) => {
  const { status, json } = await tenant.post(certs, body);
  expect(status).toBe(400);
  expect(json.sub_errors.map(({ field, code }: Record<string, string>) => `${field} ${code}`)).toEqual([
    fault,
  ]);
});
