import { certificateRequest, keyPair } from './testing/certificate-request';
import { attachCertificate } from './testing/forged-instances';
import { RunningApi, type Tenant } from './testing/running-api';

const keys = keyPair('p256');
const csr = certificateRequest(keys, { CN: 'example.com' });
const at = '/api/v2/certs/example.com';
const expanded = `${at}?expand=current.crt&expand=pending&expand=csr&expand=dns_approval.status`;

// A machine that is busy with other specs must not fail these.
jest.setTimeout(30_000);

let api: RunningApi;
let one: Tenant;
let other: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  [one, other] = [await api.tenant(), await api.tenant()];
});
afterAll(() => api.stop());

describe('two accounts', () => {
  it('have an object of the same common name, each its own', async () => {
    const ofOne = (await one.post(at, { csr, approval_method: 'dns', tags: ['one'] })).json;
    const ofOther = (await other.post(at, { csr, approval_method: 'dns', tags: ['other'] })).json;
    expect([ofOne.tags, ofOther.tags]).toEqual([['one'], ['other']]);
    expect(ofOther.current_download).not.toBe(ofOne.current_download);
    await attachCertificate(api, one, 'example.com');
    await other.post(at, { sans: [] });
    expect((await one.get(expanded)).json).toMatchObject({
      tags: ['one'],
      sans: null,
      current: { state: 'active' },
    });
    expect((await other.get(expanded)).json).toMatchObject({ tags: ['other'], sans: [], current: null });
  });

  it('have other records for the same name: the record of one approves nothing of the other', async () => {
    const records = async (tenant: Tenant) =>
      (await tenant.post(at, { csr, approval_method: 'dns' })).json.dns_approval.options.map(
        ({ value }: { value: string }) => value,
      );
    const [ofOne, ofOther] = [await records(one), await records(other)];
    expect(ofOne.filter((value: string) => ofOther.includes(value))).toEqual([]);
  });

  it('have another rule for their web servers', async () => {
    const rule = async (tenant: Tenant) =>
      (await tenant.post(at, { csr, approval_method: 'http' })).json.http_approval.redirect_to;
    expect(await rule(one)).not.toBe(await rule(other));
  });

  it('do not see that the other one has something', async () => {
    const before = await other.get(expanded);
    await one.post(at, { csr, approval_method: 'dns' });
    await attachCertificate(api, one, 'example.com');
    const after = await other.get(expanded);
    expect([after.status, after.text]).toEqual([before.status, before.text]);
    expect((await other.get('/api/v2/certs')).json).toEqual({ data: [] });
    expect((await other.post(at, { muted: true })).json).toMatchObject({
      reason: 'missing_param',
      param: 'csr',
    });
  });

  it('may use the same key, the same CSR and the same Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'the-same' };
    await one.post(at, { csr, approval_method: 'dns', tags: ['one'] }, key);
    const response = await other.post(at, { csr, approval_method: 'dns', tags: ['other'] }, key);
    expect([response.status, response.json.tags]).toEqual([200, ['other']]);
    expect(response.headers).not.toHaveProperty('idempotency-replayed');
  });

  it('are not made ready by a record of the other one', async () => {
    await one.post(at, { csr, approval_method: 'dns' });
    await other.post(at, { csr, approval_method: 'dns' });
    await api.database.query(
      `WITH made AS (INSERT INTO dns_integration (id, account_id, provider, description, handle, state, zones_due_at)
         VALUES (4711, $1, 'cloudflare', '', 'handle', 'ok', now()) RETURNING id, account_id)
       INSERT INTO dns_integration_zone (integration_id, account_id, name, zone_id) SELECT id, account_id, 'example.com', 'z' FROM made`,
      [one.accountId],
    );
    const ready = async (tenant: Tenant) => (await tenant.get(expanded)).json.dns_approval.status.ready;
    expect([await ready(one), await ready(other)]).toEqual([true, false]);
  });
});
