import { JobQueues } from '@certwright/bullmq';
import { currentCertificateChanged } from '@certwright/jobs';
import { AnnouncementRound } from '@certwright/delivery';
import { eventually } from '@certwright/testing';
import { deliveriesOf, unannounced } from '@certwright/core-testing';
import { OrdersRepository } from '../orders/orders.repository';
import { certificateRequest, keyPair } from '../testing/certificate-request';
import { changeCurrent } from '../testing/current-certificate';
import { RunningApi, type Tenant } from '../testing/running-api';
import { AnnounceCurrentCertificate } from './announce-current-certificate.use-case';

const csr = certificateRequest(keyPair('p256'), { dnsNames: ['example.com'] });
const announcedOrder =
  '/api/v3/orders/mine?expand=current_cert.leaf&expand=current_cert.chain&expand=current_cert.root';

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant('Full Access');
  await tenant.post('/api/v3/orders', { name: 'mine', dns_names: ['example.com'], csr });
});
afterAll(() => api.stop());

const addWebhook = async (of: Tenant = tenant, more: object = {}): Promise<string> =>
  String((await of.post('/api/v3/account/webhooks', { url: 'https://hooks.example.com/', ...more })).json.id);

const allAnnounced = async (of: Tenant = tenant) =>
  await eventually(async () => expect(await unannounced(api, of)).toBe(0));

const planId = async (of: Tenant = tenant): Promise<string> => {
  const [plan] = await api.database.query<{ id: string }>(`SELECT id FROM plan WHERE account_id = $1`, [
    of.accountId,
  ]);
  return plan?.id ?? '';
};

/** Until `restoreAllMocks`, plans are announced only by wake-ups and explicit calls. */
const withoutSweep = () =>
  jest.spyOn(api.app.get(AnnouncementRound), 'run').mockImplementation(async () => 20);
afterEach(() => jest.restoreAllMocks());

describe('when the current certificate of an order changes', () => {
  it('every enabled webhook of the account, and no other, gets the order object with leaf, chain and root', async () => {
    const other = await api.tenant('Full Access');
    await addWebhook(other);
    await addWebhook(tenant, { enabled: false });
    const webhooks = [await addWebhook(), await addWebhook()].sort();
    await changeCurrent(api, tenant, 'mine');
    await allAnnounced();

    const deliveries = await deliveriesOf(api, tenant);
    expect(deliveries.map(({ endpoint_id }) => endpoint_id).sort()).toEqual(webhooks);
    const { text } = await tenant.get(announcedOrder);
    for (const delivery of deliveries) {
      expect(delivery).toMatchObject({ event: 'order.current_cert_changed', version: 1, state: 'pending' });
      expect(delivery.id).toMatch(/^msg_[A-Za-z0-9_-]{27}$/);
      expect(delivery.body).toBe(text);
    }
    expect(JSON.parse(text).current_cert).toMatchObject({
      leaf: expect.any(String),
      chain: [expect.any(String)],
      root: expect.any(String),
    });
    expect(await deliveriesOf(api, other)).toEqual([]);
  });

  it('each delivery has its wake-up in the same transaction', async () => {
    await addWebhook();
    await changeCurrent(api, tenant, 'mine');
    await allAnnounced();
    const [delivery] = await deliveriesOf(api, tenant);
    const wakeUps = await api.database.query(`SELECT job FROM outbox WHERE payload->>'deliveryId' = $1`, [
      delivery?.id,
    ]);
    expect(wakeUps).toEqual([{ job: 'deliver-webhook' }]);
  });

  it('an account without webhooks gets no delivery, and the plan is done', async () => {
    await changeCurrent(api, tenant, 'mine');
    await allAnnounced();
    await addWebhook();
    expect(await deliveriesOf(api, tenant)).toEqual([]);
  });

  it('announces null when the last certificate has expired', async () => {
    await addWebhook();
    await changeCurrent(api, tenant, 'mine');
    await allAnnounced();
    await api.database.query(
      `UPDATE certificate SET not_before = now() - interval '2 days', not_after = now() - interval '1 day'
       WHERE account_id = $1`,
      [tenant.accountId],
    );
    await changeCurrent(api, tenant, 'mine', {
      certificate: { notBefore: new Date(1_700_000_000_000), notAfter: new Date(1_700_000_001_000) },
    });
    await allAnnounced();
    const announced = (await deliveriesOf(api, tenant)).map(({ body }) => JSON.parse(body).current_cert);
    expect(announced).toEqual([expect.objectContaining({ state: 'valid' }), null]);
  });
});

describe('the newest state wins', () => {
  it('when two certificates come before an announcement: one delivery, of the second', async () => {
    await addWebhook();
    const sweep = withoutSweep();
    await changeCurrent(api, tenant, 'mine');
    const second = await changeCurrent(api, tenant, 'mine', {
      certificate: { notAfter: new Date(Date.now() + 200 * 86_400_000) },
    });
    expect(await unannounced(api, tenant)).toBe(1);
    sweep.mockRestore();
    await allAnnounced();

    const deliveries = await deliveriesOf(api, tenant);
    expect(deliveries).toMatchObject([{ version: 2, state: 'pending' }]);
    expect(JSON.parse(deliveries[0]?.body ?? '').current_cert.id).toBe(second);
  });

  it('when the first waits to be delivered still: it is superseded', async () => {
    await addWebhook();
    await changeCurrent(api, tenant, 'mine');
    await allAnnounced();
    await changeCurrent(api, tenant, 'mine');
    await allAnnounced();
    expect(await deliveriesOf(api, tenant)).toMatchObject([
      { version: 1, state: 'superseded' },
      { version: 2, state: 'pending' },
    ]);
  });
});

describe('a deleted order', () => {
  it('sends nothing when it was deleted before the announcement', async () => {
    await addWebhook();
    const remove = api.app.get(OrdersRepository);
    await changeCurrent(api, tenant, 'mine', {
      meanwhile: async (tx, order) => await remove.remove(tx, order),
    });
    await allAnnounced();
    expect(await deliveriesOf(api, tenant)).toEqual([]);
  });

  it('cancels what waits to be delivered', async () => {
    await addWebhook();
    await changeCurrent(api, tenant, 'mine');
    await allAnnounced();
    expect((await tenant.delete('/api/v3/orders/mine')).status).toBe(204);
    expect(await deliveriesOf(api, tenant)).toMatchObject([{ state: 'canceled' }]);
  });
});

describe('the wake-up', () => {
  let queues: JobQueues;
  beforeAll(() => {
    queues = new JobQueues(api.redis.access, () => undefined);
  });
  afterAll(async () => await queues.close());

  // Redis refuses commands until the connection is open.
  const sendWakeUp = async (version: number) =>
    await eventually(async () => await queues.addAll([currentCertificateChanged(await planId(), version)]));

  it('announces without the sweep, and once however often it comes', async () => {
    withoutSweep();
    await addWebhook();
    await changeCurrent(api, tenant, 'mine');
    await sendWakeUp(1);
    await allAnnounced();
    await sendWakeUp(1);
    await sendWakeUp(2);
    await eventually(async () => expect((await queues.lengths()).get('orders-v3-events')).toBe(0));
    expect(await deliveriesOf(api, tenant)).toHaveLength(1);
  });

  it('may be lost with all data in Redis: the sweep finds unannounced plans', async () => {
    const sweep = withoutSweep();
    await addWebhook();
    await changeCurrent(api, tenant, 'mine');
    await api.database.query(`DELETE FROM outbox`);
    await api.redis.flush();
    sweep.mockRestore();
    await allAnnounced();
    expect(await deliveriesOf(api, tenant)).toHaveLength(1);
  });
});

describe('two copies of the process', () => {
  it('make one delivery per webhook and version, also concurrently', async () => {
    const copy = await RunningApi.start({
      DATABASE_URL: api.database.urlOf('orders-v3'),
      ...api.redis.environment,
    });
    const webhooks = [await addWebhook(), await addWebhook(), await addWebhook()];
    const id = await planId();
    for (let version = 1; version <= 10; version += 1) {
      await changeCurrent(api, tenant, 'mine');
      await Promise.all(
        [api, copy, api, copy, api, copy].map(
          async ({ app }) => await app.get(AnnounceCurrentCertificate).run(id),
        ),
      );
    }
    await allAnnounced();
    await copy.stop();
    const seen = (await deliveriesOf(api, tenant)).map(
      ({ endpoint_id, version }) => `${endpoint_id} ${version}`,
    );
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBe(10 * webhooks.length);
  });
});

describe('the sweep', () => {
  it('skips plans that another API owns', async () => {
    await api.database.query(
      `INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token, current_version, owner)
       VALUES ($1, 1, true, false, false, gen_random_uuid(), 1, 'certs-v2')`,
      [tenant.accountId],
    );
    await changeCurrent(api, tenant, 'mine');
    await eventually(async () => expect(await unannounced(api, tenant)).toBe(1));
  });
});
