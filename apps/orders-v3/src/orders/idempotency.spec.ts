import { certificateRequest, keyPair } from '../testing/certificate-request';
import { RunningApi, type Tenant } from '../testing/running-api';

const csr = certificateRequest(keyPair('p256'), { dnsNames: ['example.com'] });
const body = { dns_names: ['example.com'], csr };

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant();
});
afterAll(() => api.stop());

const create = (key: string, sent: unknown = body) =>
  tenant.post('/api/v3/orders?expand=issuance', sent, { 'idempotency-key': key });

describe('Idempotency-Key', () => {
  it('gets the same status, headers and body again, without a second effect', async () => {
    const first = await create('k1');
    const again = await create('k1', `{ "csr": "${csr}",\n "dns_names": ["example.com"] }`);

    expect(again.status).toBe(201);
    expect(again.text).toBe(first.text);
    expect(again.headers).toMatchObject({
      'idempotency-replayed': 'true',
      location: first.headers.location,
      etag: '"1"',
    });
    expect(first.headers).not.toHaveProperty('idempotency-replayed');
    expect((await tenant.get('/api/v3/orders')).json).toHaveLength(1);
  });

  it('replays a modification although the order has moved on', async () => {
    await create('k1');
    const modify = () =>
      tenant.post('/api/v3/orders/example.com', { muted: true }, { 'idempotency-key': 'k1' });
    const first = await modify();
    await tenant.post('/api/v3/orders/example.com', { muted: false });
    const again = await modify();

    expect(again).toMatchObject({ status: 200, text: first.text });
    expect((await tenant.get('/api/v3/orders/example.com')).json).toMatchObject({
      revision: 3,
      muted: false,
    });
  });

  it('is 422 with another body, a wrong one included', async () => {
    await create('k1');
    expect(await create('k1', { ...body, muted: true })).toMatchObject({
      status: 422,
      json: { code: 'idempotency_key_reused' },
    });
    expect((await create('k1', { dns_names: [] })).status).toBe(422);
  });

  it('is carried out again after a failure, which is not kept', async () => {
    expect((await create('k1', { ...body, csr: null })).status).toBe(400);
    expect((await create('k1')).status).toBe(201);
  });

  it('processes one of many concurrent requests; the others get 409 or its response', async () => {
    const responses = await Promise.all(Array.from({ length: 8 }, () => create('k1')));
    const [done] = responses.filter(
      ({ status, headers }) => status === 201 && !('idempotency-replayed' in headers),
    );

    for (const response of responses) {
      if (response.status === 201) expect(response.text).toBe(done?.text);
      else expect(response).toMatchObject({ status: 409, json: { code: 'idempotency_key_in_use' } });
    }
    expect((await tenant.get('/api/v3/orders')).json).toHaveLength(1);
  });

  it('belongs to its account, and to its path', async () => {
    await create('k1');
    const other = await api.tenant();
    const response = await other.post('/api/v3/orders', body, { 'idempotency-key': 'k1' });
    expect(response.status).toBe(201);
    expect(response.headers).not.toHaveProperty('idempotency-replayed');
    const modified = await tenant.post('/api/v3/orders/example.com', body, { 'idempotency-key': 'k1' });
    expect(modified.status).toBe(200);
  });

  it('is refused when it is malformed', async () => {
    expect(await create('two words')).toMatchObject({ status: 400, json: { field: 'Idempotency-Key' } });
    expect((await create('x'.repeat(256))).status).toBe(400);
  });
});
