import { connect, type Socket } from 'node:net';
import { IssuanceNews, IssuanceNewsListener } from '@certwright/redis';
import { eventually } from '@certwright/testing';
import { RunningApi, type Tenant } from '../testing/running-api';
import { activatePending, createObject, csrFor, otherKeys, pathOf } from './testing/bought';
import { PendingInstances } from './pending-instances';

jest.setTimeout(60_000);

const cn = 'www.example.com';
const quiet = { warn: () => undefined, info: () => undefined };
/** Longer than any of this takes, so that no response is caused by the timeout. */
const long = 170;
const begun = () => {
  const at = performance.now();
  return () => (performance.now() - at) / 1_000;
};

const poll = (tenant: Tenant, id: number | string, seconds: number | string, query = '') =>
  tenant.get(`${pathOf(cn)}/instances/${id}?poll=${seconds}${query}`);
const waitingAt = (api: RunningApi) => api.app.get(PendingInstances).count;
const waits = async (api: RunningApi, count: number) =>
  await eventually(() => expect(waitingAt(api)).toBe(count), { withinMs: 30_000 });

/** What the worker does in one transaction and then publishes. */
async function issue(api: RunningApi, tenant: Tenant, publish: (id: string) => void): Promise<void> {
  const [open] = await api.database.query<{ id: string }>(
    `SELECT id FROM issuance WHERE account_id = $1 AND state = 'open'`,
    [tenant.accountId],
  );
  await activatePending(api, tenant, cn);
  publish(open?.id ?? '');
}

describe('poll', () => {
  let api: RunningApi;
  let tenant: Tenant;
  let id: number;
  let news: IssuanceNews;
  beforeAll(async () => {
    api = await RunningApi.start();
    news = new IssuanceNews(api.redis.access, {
      name: 'spec',
      log: quiet,
    });
  });
  beforeEach(async () => {
    tenant = await api.tenant();
    await createObject(tenant, cn);
    id = (await tenant.post(`${pathOf(cn)}/buy`)).json.id;
  });
  afterAll(async () => {
    await news.close();
    await api.stop();
  });
  const publish = (issuanceId: string) => news.publish(issuanceId);

  it('of 0 returns at once: 412 with retry_after', async () => {
    const { status, headers, json } = await poll(tenant, id, 0);
    expect([status, headers['content-type'], headers['retry-after'], json]).toEqual([
      412,
      'application/json',
      '1',
      { reason: 'not_ready', message: 'The certificate instance is still pending.', retry_after: 1 },
    ]);
    await api.database.query(
      `UPDATE issuance SET opened_at = now() - interval '10 minutes' WHERE account_id = $1`,
      [tenant.accountId],
    );
    const later = await poll(tenant, id, 0);
    expect([later.headers['retry-after'], later.json.retry_after]).toEqual(['31', 31]);
  });

  it('waits for the given time, and returns 412 when it is still pending', async () => {
    const took = begun();
    const { status, json } = await poll(tenant, id, 2);
    expect([status, json.reason]).toEqual([412, 'not_ready']);
    expect(took()).toBeGreaterThan(1.5);
  });

  it('without it, a pending instance is returned as it is', async () => {
    expect((await tenant.get(`${pathOf(cn)}/instances/${id}`)).json.state).toBe('pending');
  });

  it('returns as soon as the instance is active, with the requested expansions', async () => {
    const took = begun();
    const responses = [poll(tenant, id, long, '&expand=crt&expand=chain'), poll(tenant, id, 5_000_000)];
    await waits(api, 2);
    await issue(api, tenant, publish);
    const [expanded, plain] = await Promise.all(responses);
    expect([expanded?.status, expanded?.json.state, plain?.status, plain?.json.state]).toEqual([
      200,
      'active',
      200,
      'active',
    ]);
    expect(expanded?.json).toMatchObject({
      crt: expect.stringMatching(/^-----BEGIN/),
      chain: [expect.any(String)],
    });
    expect(plain?.json).not.toHaveProperty('crt');
    expect(took()).toBeLessThan(long / 2);
    expect((await poll(tenant, id, long)).json.state).toBe('active');
  });

  it('by the hash of the key waits in the same way', async () => {
    const hash = (await tenant.get(pathOf(cn))).json.pubkey_hash;
    const response = poll(tenant, `pubkey_hash:${hash}`, long);
    await waits(api, 1);
    await issue(api, tenant, publish);
    expect((await response).json).toMatchObject({ id, state: 'active' });
  });

  it('ends when the instance is canceled, by a newer purchase or by a revocation, which is published', async () => {
    const heard: string[] = [];
    const listener = new IssuanceNewsListener(api.redis.access, { name: 'spec', log: quiet });
    await new Promise<void>((resolve) => listener.onReconnected(resolve));
    const listenTo = async (instanceId: number) => {
      const [row] = await api.database.query<{ id: string }>(`SELECT id FROM issuance WHERE public_id = $1`, [
        instanceId,
      ]);
      listener.on(row?.id ?? '', () => heard.push(String(instanceId)));
    };
    await listenTo(id);
    const first = poll(tenant, id, long);
    await waits(api, 1);
    await tenant.post(pathOf(cn), { csr: csrFor(cn, otherKeys) });
    const second = (await tenant.post(`${pathOf(cn)}/buy`)).json;
    expect((await first).json).toMatchObject({ id, state: 'canceled' });
    await listenTo(second.id);
    const last = poll(tenant, second.id, long);
    await waits(api, 1);
    await tenant.postForm(`${pathOf(cn)}/revoke`, { all: '1' });
    expect((await last).json).toMatchObject({ id: second.id, state: 'canceled' });
    await eventually(() => expect(new Set(heard)).toEqual(new Set([String(id), String(second.id)])));
    await listener.close();
  });

  it('continues after a spurious event', async () => {
    const response = poll(tenant, id, long);
    await waits(api, 1);
    const [row] = await api.database.query<{ id: string }>(`SELECT id FROM issuance WHERE public_id = $1`, [
      id,
    ]);
    const looks = await api.statementsOf(async () => {
      publish(row?.id ?? '');
      await eventually(async () => expect((await tenant.get(pathOf(cn))).status).toBe(200));
    });
    expect(looks.length).toBeGreaterThan(0);
    expect(waitingAt(api)).toBe(1);
    await issue(api, tenant, publish);
    expect((await response).json.state).toBe('active');
  });

  it.each(['', '-1', '1.5', '1e9', 'soon', '5&poll=6', '%00'])('of %p is refused', async (value) => {
    const { status, json } = await poll(tenant, id, value);
    expect([status, json.reason]).toEqual(value === '%00' ? [400, 'bad_request'] : [400, 'bad_param']);
    if (value !== '%00') expect(json.param).toBe('poll');
  });

  it('holds no place for a client that disconnected', async () => {
    const socket = await pollBySocket(api, tenant, id);
    await waits(api, 1);
    socket.destroy();
    await waits(api, 0);
    const next = await pollBySocket(api, tenant, id);
    await waits(api, 1);
    next.end();
    next.destroy();
    await waits(api, 0);
  });

  it('ends when the process stops, before its timeout', async () => {
    const own = await RunningApi.start(async () => ({ DATABASE_URL: api.database.url, DRAIN_TIME: '60s' }));
    const { authorization } = {
      authorization: `Basic ${Buffer.from(`${tenant.apiKey}:`).toString('base64')}`,
    };
    const responses = [1, 2, 3].map(() =>
      own.call('GET', `${pathOf(cn)}/instances/${id}?poll=${long}`, { headers: { authorization } }),
    );
    await waits(own, 3);
    const took = begun();
    await own.stop();
    for (const { status, json } of await Promise.all(responses))
      expect([status, json.reason]).toEqual([412, 'not_ready']);
    expect(took()).toBeLessThan(30);
  });
});

/** A request whose response is never read. */
async function pollBySocket(api: RunningApi, tenant: Tenant, id: number): Promise<Socket> {
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.on('error', () => undefined);
  const credentials = Buffer.from(`${tenant.apiKey}:`).toString('base64');
  socket.write(
    `GET ${pathOf(cn)}/instances/${id}?poll=${long} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${credentials}\r\n\r\n`,
  );
  return socket;
}
