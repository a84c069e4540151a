import { eventually } from '@certwright/testing';
import { unannounced } from '@certwright/core-testing';
import { certificateRequest, keyPair } from '../testing/certificate-request';
import { changeCurrent } from '../testing/current-certificate';
import { RunningApi, type Tenant } from '../testing/running-api';

const csr = certificateRequest(keyPair('p256'), { dnsNames: ['example.com'] });
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
const deliveryId = expect.stringMatching(/^msg_[A-Za-z0-9_-]{27}$/);

let api: RunningApi;
let tenant: Tenant;
let webhook: string;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant('Full Access');
  const { json } = await tenant.post('/api/v3/account/webhooks', { url: 'https://hooks.example.com/' });
  webhook = `/api/v3/account/webhooks/${json.id}`;
});
afterAll(() => api.stop());

const test = () => tenant.post(`${webhook}/test`, undefined);

/** An order whose new certificate has been put on its way. @returns the delivery */
async function announced() {
  await tenant.post('/api/v3/orders', { name: 'mine', dns_names: ['example.com'], csr });
  await changeCurrent(api, tenant, 'mine');
  await eventually(async () => expect(await unannounced(api, tenant)).toBe(0));
  const [delivery] = (await tenant.get(`${webhook}/deliveries`)).json;
  return delivery;
}

describe('GET /api/v3/account/webhooks/{ID}/deliveries', () => {
  it('shows what was sent, with every attempt and no byte of the other side', async () => {
    const { id } = await announced();
    await api.database.query(
      `INSERT INTO webhook_attempt (delivery_id, started_at, duration_ms, status, problem) VALUES
         ($1, '2026-11-20T10:00:00.5Z', 15000, NULL, 'No response within 15 s.'),
         ($1, '2026-11-20T10:00:20Z', 12, 200, NULL)`,
      [id],
    );
    const page = await tenant.get(`${webhook}/deliveries`);

    expect(page.status).toBe(200);
    expect(page.json).toEqual([
      {
        id: deliveryId,
        event: 'order.current_cert_changed',
        order: 'mine',
        state: 'pending',
        replay_of: null,
        created_at: timestamp,
        next_attempt_at: timestamp,
        finished_at: null,
        attempts: [
          {
            started_at: '2026-11-20T10:00:00Z',
            duration_ms: 15_000,
            status: null,
            problem: 'No response within 15 s.',
          },
          { started_at: '2026-11-20T10:00:20Z', duration_ms: 12, status: 200, problem: null },
        ],
      },
    ]);
  });

  it('pages newest first, and follows the next relation to the end', async () => {
    const sent: string[] = [];
    for (let count = 0; count < 5; count += 1) sent.unshift((await test()).json.id);
    const seen: string[] = [];
    let path: string | undefined = `${webhook}/deliveries?limit=2`;
    while (path !== undefined) {
      const page = await tenant.get(path);
      expect(page.status).toBe(200);
      seen.push(...page.json.map(({ id }: { id: string }) => id));
      path = /^<([^>]+)>; rel="next"$/.exec(String(page.headers.link ?? ''))?.[1];
    }
    expect(seen).toEqual(sent);
  });

  it.each([
    ['limit=0', 'limit'],
    ['after=x', 'after'],
    ['after=msg_%27', 'after'],
  ])('refuses ?%s', async (query, field) => {
    const response = await tenant.get(`${webhook}/deliveries?${query}`);
    expect(response).toMatchObject({ status: 400, json: { code: 'bad_query', sub_errors: [{ field }] } });
  });
});

describe('GET /api/v3/account/webhooks/{ID}/deliveries/{DELIVERY_ID}', () => {
  it('shows what is sent, to the letter', async () => {
    const { id } = await announced();
    const order = await tenant.get(
      '/api/v3/orders/mine?expand=current_cert.leaf&expand=current_cert.chain&expand=current_cert.root',
    );
    const found = await tenant.get(`${webhook}/deliveries/${id}`);
    expect(found.json).toMatchObject({ id, order: 'mine', body: order.text });
    expect((await tenant.get(`${webhook}/deliveries/msg_${'A'.repeat(27)}`)).status).toBe(404);
    expect((await tenant.get(`${webhook}/deliveries/x`)).status).toBe(404);
  });
});

describe('POST /api/v3/account/webhooks/{ID}/test', () => {
  it('returns 201 with a delivery of the event test, whatever the webhook selected', async () => {
    await tenant.post(webhook, { events: ['monitoring.behind'] });
    const sent = await test();

    expect(sent.status).toBe(201);
    expect(sent.headers).toMatchObject({ location: `${webhook}/deliveries/${sent.json.id}` });
    expect(sent.json).toMatchObject({
      id: deliveryId,
      event: 'test',
      order: null,
      state: 'pending',
      attempts: [],
    });
    expect(JSON.parse(sent.json.body)).toEqual({
      event: 'test',
      webhook_id: Number(webhook.split('/').at(-1)),
      created_at: timestamp,
      message: 'A test of this webhook; nothing has changed.',
    });
    expect((await tenant.get(String(sent.headers.location))).json).toEqual(sent.json);
  });

  it('sends one for one Idempotency-Key, and each time without', async () => {
    const headers = { 'idempotency-key': 't1' };
    const first = await tenant.post(`${webhook}/test`, undefined, headers);
    expect((await tenant.post(`${webhook}/test`, undefined, headers)).text).toBe(first.text);
    expect((await tenant.post(`${webhook}/test`, { event: 'mine' }, headers)).status).toBe(422);
    await test();
    await test();
    expect((await tenant.get(`${webhook}/deliveries`)).json).toHaveLength(3);
  });

  it('returns 409 while the webhook is disabled, and sends nothing', async () => {
    await test();
    await tenant.post(webhook, { enabled: false });
    expect(await test()).toMatchObject({ status: 409, json: { code: 'conflict' } });
    const deliveries = (await tenant.get(`${webhook}/deliveries`)).json;
    expect(deliveries).toMatchObject([{ state: 'canceled', next_attempt_at: null, finished_at: timestamp }]);
  });
});

describe('POST /api/v3/account/webhooks/{ID}/deliveries/{DELIVERY_ID}/replay', () => {
  it('returns 201 with a new delivery of the same body for each request', async () => {
    const { id } = await announced();
    const [one, two] = [await replay(id), await replay(id)];

    expect(one.status).toBe(201);
    expect(one.json).toMatchObject({ event: 'order.current_cert_changed', order: 'mine', replay_of: id });
    expect(new Set([id, one.json.id, two.json.id]).size).toBe(3);
    const { body } = (await tenant.get(`${webhook}/deliveries/${id}`)).json;
    expect([one.json.body, two.json.body]).toEqual([body, body]);
  });

  it('sends nothing about a deleted order', async () => {
    const { id } = await announced();
    await tenant.delete('/api/v3/orders/mine');
    expect(await replay(id)).toMatchObject({ status: 409, json: { code: 'conflict' } });
    const [delivery] = (await tenant.get(`${webhook}/deliveries`)).json;
    expect(delivery).toMatchObject({ id, state: 'canceled', order: null });
  });

  it('sends a message of monitoring again, as often as requested', async () => {
    const id = `msg_${'A'.repeat(27)}`;
    const message = { event: 'monitoring.unknown_certificate', body: '{"id":"1"}' };
    await api.database.query(
      `INSERT INTO webhook_delivery
         (id, account_id, endpoint_id, version, subject, event, body, state, due_at, finished_at)
       VALUES ($1, $2, $3, 0, 'finding:00', $4, $5, 'delivered', now(), now())`,
      [id, tenant.accountId, webhook.split('/').at(-1), message.event, message.body],
    );
    for (let count = 0; count < 2; count += 1) {
      expect(await replay(id)).toMatchObject({
        status: 201,
        json: { event: message.event, order: null, replay_of: id, body: message.body, state: 'pending' },
      });
    }
  });

  it('returns 404 for a delivery of another webhook', async () => {
    const { id } = await announced();
    const { json } = await tenant.post('/api/v3/account/webhooks', { url: 'https://other.example.com/' });
    const elsewhere = `/api/v3/account/webhooks/${json.id}/deliveries/${id}`;
    expect((await tenant.get(elsewhere)).status).toBe(404);
    expect((await tenant.post(`${elsewhere}/replay`, undefined)).status).toBe(404);
  });

  const replay = (id: string) => tenant.post(`${webhook}/deliveries/${id}/replay`, undefined);
});
