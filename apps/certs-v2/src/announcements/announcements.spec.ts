import { JobQueues } from '@certwright/bullmq';
import { currentInstanceChanged } from '@certwright/jobs';
import { AnnouncementRound } from '@certwright/delivery';
import { Plans } from '@certwright/ordering';
import { eventually } from '@certwright/testing';
import { deliveriesOf, unannounced } from '@certwright/core-testing';
import { forgedRoot } from '../instances/testing/forged-authority';
import { certificateRequest, keyPair } from '../testing/certificate-request';
import { addWebhook, changeCurrent, reselectCurrent } from '../testing/current-instance';
import { RunningApi, type Tenant } from '../testing/running-api';
import { AnnounceCurrentInstance } from './announce-current-instance.use-case';

const cn = 'example.com';
const csr = certificateRequest(keyPair('p256'), { CN: cn });

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant();
  const response = await tenant.postForm(`/api/v2/certs/${cn}`, { csr, approval_method: 'dns' });
  expect(response.status).toBe(200);
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => api.stop());

const allAnnounced = async () => await eventually(async () => expect(await unannounced(api, tenant)).toBe(0));

const planId = async (): Promise<string> => {
  const [plan] = await api.database.query<{ id: string }>(`SELECT id FROM plan WHERE account_id = $1`, [
    tenant.accountId,
  ]);
  return plan?.id ?? '';
};

/** Plans are announced only by wake-ups and explicit calls. */
const withoutSweep = () =>
  jest.spyOn(api.app.get(AnnouncementRound), 'run').mockImplementation(async () => 20);

describe('when an instance is issued', () => {
  it('every enabled webhook of the account, and no other, gets the object with current.crt and current.chain', async () => {
    const other = await api.tenant();
    await addWebhook(api, other);
    await addWebhook(api, tenant, false);
    const webhooks = [await addWebhook(api, tenant), await addWebhook(api, tenant)].sort();
    const { instanceId } = await changeCurrent(api, tenant, cn);
    await allAnnounced();

    const deliveries = await deliveriesOf(api, tenant);
    expect(deliveries.map(({ endpoint_id }) => endpoint_id).sort()).toEqual(webhooks);
    const { text } = await tenant.get(`/api/v2/certs/${cn}?expand=current.crt&expand=current.chain`);
    for (const delivery of deliveries) {
      expect(delivery).toMatchObject({ event: 'certificate.issued', version: 1, state: 'pending' });
      expect(delivery.body).toBe(text);
    }
    const announced = JSON.parse(text);
    expect(announced).toMatchObject({ cn, exists: true, current: { id: instanceId, state: 'active' } });
    expect(announced.current.crt).toMatch(/^-----BEGIN CERTIFICATE-----\n[^]*\n-----END CERTIFICATE-----\n$/);
    expect(announced.current.chain).toEqual([expect.stringMatching(/^-----BEGIN CERTIFICATE-----\n/)]);
    for (const member of ['csr', 'root']) {
      expect(announced).not.toHaveProperty(member);
      expect(announced.current).not.toHaveProperty(member);
    }
    expect(await deliveriesOf(api, other)).toEqual([]);
  });

  it('nothing is put on its way for an account without webhooks, and the plan is done', async () => {
    await changeCurrent(api, tenant, cn);
    await allAnnounced();
    await addWebhook(api, tenant);
    expect(await deliveriesOf(api, tenant)).toEqual([]);
  });

  it('and another one before the announcement, only the newest is announced', async () => {
    await addWebhook(api, tenant);
    const sweep = withoutSweep();
    await changeCurrent(api, tenant, cn);
    const notAfter = new Date(Date.now() + 200 * 86_400_000);
    const second = await changeCurrent(api, tenant, cn, { certificate: { notAfter } });
    sweep.mockRestore();
    await allAnnounced();
    const deliveries = await deliveriesOf(api, tenant);
    expect(deliveries).toMatchObject([{ version: 2, state: 'pending' }]);
    expect(JSON.parse(deliveries[0]?.body ?? '').current.id).toBe(second.instanceId);
  });
});

describe('when an instance is imported', () => {
  it('nothing is sent, since nothing was issued, and it counts as announced', async () => {
    await addWebhook(api, tenant);
    const { pem } = forgedRoot('Elsewhere Root').issue({ dnsNames: [cn] });
    const { json } = await tenant.post(`/api/v2/certs/${cn}/instances`, { crt: pem });
    expect(json).toMatchObject({ state: 'active', source: 'import' });
    await allAnnounced();
    expect(await deliveriesOf(api, tenant)).toEqual([]);
  });
});

describe('when there is no current instance any more', () => {
  it('nothing is sent, and it counts as announced', async () => {
    await addWebhook(api, tenant);
    await changeCurrent(api, tenant, cn);
    await allAnnounced();
    await api.database.query(
      `UPDATE certificate SET revoked_at = now(), revocation_reason = 0 WHERE account_id = $1`,
      [tenant.accountId],
    );
    const sweep = withoutSweep();
    await reselectCurrent(api, tenant, cn);
    expect(await unannounced(api, tenant)).toBe(1);
    sweep.mockRestore();
    await allAnnounced();
    expect(await deliveriesOf(api, tenant)).toHaveLength(1);
  });

  it('what waits to be delivered is delivered all the same: the instance was issued', async () => {
    await addWebhook(api, tenant);
    await changeCurrent(api, tenant, cn);
    await allAnnounced();
    await api.database.query(`UPDATE certificate SET is_current = false WHERE account_id = $1`, [
      tenant.accountId,
    ]);
    await api.database.query(`UPDATE plan SET current_version = current_version + 1 WHERE account_id = $1`, [
      tenant.accountId,
    ]);
    await allAnnounced();
    expect(await deliveriesOf(api, tenant)).toMatchObject([{ version: 1, state: 'pending' }]);
  });

  it('nothing is sent for a plan that was closed before the announcement', async () => {
    await addWebhook(api, tenant);
    const meanwhile = async (tx: Parameters<Plans['close']>[0], id: string) =>
      await api.app.get(Plans).close(tx, id);
    await changeCurrent(api, tenant, cn, { meanwhile });
    await allAnnounced();
    expect(await deliveriesOf(api, tenant)).toEqual([]);
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
    await eventually(async () => await queues.addAll([currentInstanceChanged(await planId(), version)]));

  it('is in the outbox with the change', async () => {
    await addWebhook(api, tenant);
    await changeCurrent(api, tenant, cn);
    const wakeUps = await api.database.query(`SELECT job FROM outbox WHERE payload->>'planId' = $1`, [
      await planId(),
    ]);
    expect(wakeUps).toEqual([{ job: 'current-instance-changed' }]);
  });

  it('announces without the sweep, and once however often it comes', async () => {
    withoutSweep();
    await addWebhook(api, tenant);
    await changeCurrent(api, tenant, cn);
    await sendWakeUp(1);
    await allAnnounced();
    await sendWakeUp(1);
    await sendWakeUp(2);
    await eventually(async () => expect((await queues.lengths()).get('certs-v2-events')).toBe(0));
    expect(await deliveriesOf(api, tenant)).toHaveLength(1);
  });
});

describe('two copies of the process', () => {
  it('make one delivery per webhook and version, also concurrently', async () => {
    const copy = await RunningApi.start({ DATABASE_URL: api.database.url, ...api.redis.environment });
    const webhooks = [await addWebhook(api, tenant), await addWebhook(api, tenant)];
    const id = await planId();
    for (let version = 1; version <= 10; version += 1) {
      const notAfter = new Date(Date.now() + (90 + version) * 86_400_000);
      await changeCurrent(api, tenant, cn, { certificate: { notAfter } });
      await Promise.all(
        [api, copy, api, copy, api, copy].map(
          async ({ app }) => await app.get(AnnounceCurrentInstance).run(id),
        ),
      );
    }
    await allAnnounced();
    await copy.stop();
    const deliveries = await deliveriesOf(api, tenant);
    const seen = deliveries.map(({ endpoint_id, version }) => `${endpoint_id} ${version}`);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBe(10 * webhooks.length);
  });
});

describe('the sweep', () => {
  it('skips plans that another API owns', async () => {
    await api.database.query(
      `INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token, current_version)
       VALUES ($1, 1, true, false, false, gen_random_uuid(), 1)`,
      [tenant.accountId],
    );
    await addWebhook(api, tenant);
    await changeCurrent(api, tenant, cn);
    await eventually(async () => expect(await unannounced(api, tenant)).toBe(1));
    expect(await deliveriesOf(api, tenant)).toHaveLength(1);
    await api.database.query(`UPDATE plan SET announced_version = current_version`);
  });
});

it('announces with a single connection to the database', async () => {
  const small = await RunningApi.start({
    DATABASE_URL: api.database.url,
    ...api.redis.environment,
    DATABASE_POOL_SIZE: '1',
  });
  await addWebhook(api, tenant);
  withoutSweep();
  await changeCurrent(api, tenant, cn);
  await allAnnounced();
  await small.stop();
  expect(await deliveriesOf(api, tenant)).toHaveLength(1);
});
