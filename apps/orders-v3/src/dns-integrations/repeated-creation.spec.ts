import { eventually } from '@certwright/testing';
import { FakeGateway, refusal } from '../testing/gateway';
import { RunningApi, type Tenant } from '../testing/running-api';

const path = '/api/v3/account/dns_integrations';
const body = { provider: 'desec', credentials: { type: 'bearer', token: 't' } };
const headers = { 'idempotency-key': 'k1' };

let gateway: FakeGateway;
let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  gateway = await FakeGateway.open();
  api = await RunningApi.start({ ...gateway.settings, DATABASE_POOL_SIZE: '3' });
});
beforeEach(async () => {
  gateway.reset();
  tenant = await api.tenant('Full Access');
});
afterAll(async () => {
  await api.stop();
  await gateway.close();
});

const count = async () => ((await tenant.get(path)).json as unknown[]).length;
/** Holds the next requests at the gateway. @returns releases them */
function hold(endpoint: string, times: number): () => void {
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => (release = resolve));
  gateway.willFail(endpoint, ...Array.from({ length: times }, () => ({ until })));
  return release;
}

describe('Idempotency-Key', () => {
  it('returns the same response again and calls the gateway once', async () => {
    const first = await tenant.post(path, body, headers);
    const again = await tenant.post(path, body, headers);
    expect(first.status).toBe(201);
    expect(again).toMatchObject({ status: 201, text: first.text });
    expect(again.headers).toMatchObject({
      'idempotency-replayed': 'true',
      location: first.headers['location'],
    });
    expect(gateway.count('make_integration')).toBe(1);
    expect(await count()).toBe(1);
  });

  it.each([
    { ...body, description: 'other' },
    { ...body, credentials: { type: 'bearer', token: 'other' } },
    { ...body, provider: 'wrong' },
  ])('is refused with another body, other credentials included', async (other) => {
    await tenant.post(path, body, headers);
    const response = await tenant.post(path, other, headers);
    expect(response).toMatchObject({ status: 422, json: { code: 'idempotency_key_reused' } });
  });

  it('is in use while the first request waits for the gateway, and holds no connection to the database', async () => {
    const release = hold('make_integration', 8);
    const keys = Array.from({ length: 8 }, (_, at) => ({ 'idempotency-key': `held-${at}` }));
    const running = keys.map((key) => tenant.post(path, body, key));
    await eventually(() => expect(gateway.count('make_integration')).toBe(8));
    const again = await tenant.post(path, body, keys[0]);
    expect(again).toMatchObject({ status: 409, json: { code: 'idempotency_key_in_use' } });
    expect(again.headers).toMatchObject({ 'retry-after': '1' });
    // More of them wait than there are connections.
    expect(await count()).toBe(0);
    release();
    for (const response of await Promise.all(running)) expect(response.status).toBe(201);
  });

  it('is free after a failure: the corrected request is carried out', async () => {
    const wrong = { ...body, credentials: { type: 'bearer', token: 'wrong' } };
    expect((await tenant.post(path, wrong, headers)).status).toBe(400);
    gateway.willFail('make_integration', refusal('service_outage', 'Not now.'));
    expect((await tenant.post(path, body, headers)).status).toBe(503);
    expect((await tenant.post(path, body, headers)).status).toBe(201);
  });

  it('is free two minutes after a crash in the middle', async () => {
    await tenant.post(path, body, headers);
    const crashed = async (agoS: number) =>
      await api.database.query(
        `UPDATE idempotency_record SET status = 0, body = 'gone', created_at = now() - make_interval(secs => $2)
         WHERE account_id = $1`,
        [tenant.accountId, agoS],
      );
    await crashed(100);
    expect((await tenant.post(path, body, headers)).json.code).toBe('idempotency_key_in_use');
    await crashed(121);
    expect((await tenant.post(path, body, headers)).status).toBe(201);
  });
});

it('returns 409 for the fifty-first, also when they come together', async () => {
  await api.database.query(
    `INSERT INTO dns_integration (id, account_id, provider, description, handle, state, zones_due_at)
     SELECT $1::bigint / 1000 + number, $1, 'desec', '', 'h', 'ok', now() + interval '1 h' FROM generate_series(1, 46) AS number`,
    [tenant.accountId],
  );
  const release = hold('make_integration', 8);
  const running = Array.from({ length: 8 }, () => tenant.post(path, body));
  await eventually(() => expect(gateway.count('make_integration')).toBe(8));
  release();
  const responses = await Promise.all(running);
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(4);
  expect(responses.filter(({ json }) => json.code === 'conflict')).toHaveLength(4);
  expect(await count()).toBe(50);
  // From then on no request reaches the gateway.
  expect(await tenant.post(path, body)).toMatchObject({ status: 409, json: { code: 'conflict' } });
  expect(gateway.count('make_integration')).toBe(8);
});

it('deletes at once while its zones are being listed; the result is discarded', async () => {
  const { id } = (await tenant.post(path, body)).json;
  const release = hold('get_zones', 1);
  const listing = tenant.get(`${path}/${id}/zones`);
  await eventually(() => expect(gateway.count('get_zones')).toBe(2));
  gateway.reseals = true;
  expect((await tenant.delete(`${path}/${id}`)).status).toBe(204);
  release();
  expect((await listing).status).toBe(404);
  expect(
    await api.database.query(`SELECT 1 FROM dns_integration_zone WHERE integration_id = $1`, [id]),
  ).toEqual([]);
  // Its records are removed with the handle that came last.
  const [row] = await api.database.query(`SELECT handle, leased_until FROM dns_integration WHERE id = $1`, [
    id,
  ]);
  expect(gateway.handles.has(row?.['handle'])).toBe(true);
  expect(row?.['leased_until']).toBeNull();
});
