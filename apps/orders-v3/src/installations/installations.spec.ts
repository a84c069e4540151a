import { Transactions } from '@certwright/core-schema';
import { AccountEvents, Mails } from '@certwright/delivery';
import { type Installation, Installations } from '@certwright/accounts';
import { Metrics, type RunningProcess } from '@certwright/service';
import { DataSource } from 'typeorm';
import { enrolledAgent, managedOrder, reported, rolledOut } from '../testing/managed-orders';
import { RunningApi, type Tenant } from '../testing/running-api';
import { InstallationMetrics } from './installation-metrics';
import { InstallationNotices } from './installation-notices';
import { installationsOfOrders, maxInstallations } from './installation-json';
import { Rollouts } from './rollouts.repository';

const orders = '/api/v3/orders';
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);

let api: RunningApi;
let tenant: Tenant;
let planId: string;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant('Full Access');
  await api.database.query(`UPDATE account SET contact_email = 'ops@example.com' WHERE id = $1`, [
    tenant.accountId,
  ]);
  await tenant.post('/api/v3/clusters', { name: 'web' });
  planId = await managedOrder(api, tenant, 'web', 'shop');
});
afterAll(() => api.stop());

const agent = async (name = 'web-1', seenMinutesAgo = 0) =>
  await enrolledAgent(api, tenant, 'web', { name, seenMinutesAgo });
const installations = async () =>
  (await tenant.get(`${orders}/shop?expand=installations`)).json.installations;

describe('expand=installations', () => {
  it('shows by host what is installed and what is served', async () => {
    const sha256 = await rolledOut(api, tenant, 'shop', { isServed: true });
    const [second, first] = [await agent('web-2'), await agent('web-1')];
    const served = [{ address: '127.0.0.1:443', sha256, checked_at: '2026-11-20T12:00:00Z' }];
    await reported(api, planId, { agent: first, state: 'serving', certificate: sha256, served });
    await reported(api, planId, { agent: second, state: 'installing', point: 'haproxy' });
    const expected = [
      {
        ...{
          agent: first,
          host: 'web-1',
          point: 'nginx',
          state: 'serving',
          certificate_sha256: sha256,
          served,
        },
        ...{ since: timestamp, problem: null },
      },
      {
        ...{ agent: second, host: 'web-2', point: 'haproxy', state: 'installing', certificate_sha256: null },
        ...{ served: [], since: timestamp, problem: null },
      },
    ];
    expect(await installations()).toEqual(expected);
    expect((await tenant.get(`${orders}?expand=installations`)).json[0].installations).toEqual(expected);
  });

  it('is absent unless it is expanded, and empty without installations', async () => {
    expect((await tenant.get(`${orders}/shop`)).json).not.toHaveProperty('installations');
    expect(await installations()).toEqual([]);
  });

  it('does not show an older certificate as serving', async () => {
    const id = await agent();
    const old = await rolledOut(api, tenant, 'shop', { isServed: true });
    await reported(api, planId, { agent: id, state: 'serving', certificate: old });
    expect(await installations()).toMatchObject([{ state: 'serving' }]);
    await rolledOut(api, tenant, 'shop');
    expect(await installations()).toMatchObject([{ state: 'waiting', certificate_sha256: old }]);
  });

  it('says which host goes first, and that a roll-out has stopped', async () => {
    const [first, second] = [await agent('web-1'), await agent('web-2')];
    await rolledOut(api, tenant, 'shop', { firstAgent: first });
    await reported(api, planId, { agent: first, state: 'installing' });
    await reported(api, planId, { agent: second, state: 'held' });
    expect(await installations()).toMatchObject([
      { state: 'installing', problem: null },
      { state: 'held', problem: expect.stringContaining('web-1 installs the certificate first') },
    ]);
    await rolledOut(api, tenant, 'shop', { isStopped: true });
    expect((await installations())[1].problem).toMatch(/two hosts could not install.*rolled_back or failed/);
  });

  it.each([
    ['no_key', /rekey the cluster/],
    ['rolled_back', /previous certificate was restored/],
    ['failed', /log of certwright-agent/],
  ] as const)('says what to do when the state is %s and the agent reports no text', async (state, advice) => {
    const id = await agent();
    await rolledOut(api, tenant, 'shop');
    await reported(api, planId, { agent: id, state });
    expect((await installations())[0].problem).toMatch(advice);
    await reported(api, planId, { agent: id, state, problem: 'No space left on /var.' });
    expect((await installations())[0].problem).toBe('No space left on /var.');
  });

  it('says that the agent is offline, with its last report', async () => {
    const id = await agent('web-1', 20);
    await rolledOut(api, tenant, 'shop');
    await reported(api, planId, { agent: id, state: 'waiting', problem: 'The disk is full.' });
    expect((await installations())[0].problem).toMatch(/certwright-agent runs.*The disk is full\./);
  });

  it('leaves out removed agents, and orders of other accounts', async () => {
    const id = await agent();
    await reported(api, planId, { agent: id, state: 'waiting' });
    await tenant.delete(`/api/v3/clusters/web/agents/${id}`);
    expect(await installations()).toEqual([]);
    const other = await api.tenant();
    expect((await other.get(`${orders}/shop?expand=installations`)).status).toBe(404);
  });

  it('has a number of statements that does not depend on the number of orders', async () => {
    const countOf = async () =>
      (await api.statementsOf(() => tenant.get(`${orders}?expand=installations`))).length;
    await countOf();
    const before = await countOf();
    for (let count = 0; count < 3; count += 1) {
      const ofPlan = await managedOrder(api, tenant, 'web', `more-${count}`);
      await reported(api, ofPlan, { agent: await agent(`web-${count}`), state: 'waiting' });
    }
    expect(await countOf()).toBe(before);
  });

  it('is null for orders that do not fit into the response, never cut', () => {
    const of = (ofPlan: string, count: number, problem: string | null = null): Installation[] =>
      Array.from({ length: count }, () => ({
        ...{ planId: ofPlan, agentId: 'a', host: 'h', point: 'p', state: 'waiting', certificateSha256: null },
        ...{ served: [], since: new Date(0), problem, isServed: false, isOnline: true },
      }));
    const cut = installationsOfOrders(['1', '2', '3'], [...of('1', 2), ...of('2', maxInstallations - 1)]);
    expect([...cut.values()].map((each) => each?.length ?? null)).toEqual([2, null, null]);
    const long = 'x'.repeat(500);
    const large = installationsOfOrders(
      ['1', '2', '3', '4'],
      [...of('1', 6_000, long), ...of('2', 1), ...of('3', 3_900, long.repeat(3)), ...of('4', 1)],
    );
    expect([...large.values()].map((each) => each?.length ?? null)).toEqual([6_000, 1, null, null]);
  });
});

interface MailRow {
  readonly kind: string;
  readonly recipient: string;
  readonly facts: object;
}

const mails = async () =>
  await api.database.query<MailRow>(
    `SELECT kind, recipient, facts FROM mail WHERE account_id = $1 ORDER BY id`,
    [tenant.accountId],
  );
const events = async () => {
  const rows = await api.database.query<{ event: string; body: string }>(
    `SELECT event, body FROM webhook_delivery WHERE account_id = $1 ORDER BY created_at`,
    [tenant.accountId],
  );
  return rows.map(({ event, body }) => ({ event, body: JSON.parse(body) as Record<string, unknown> }));
};

/** Notices of a copy of the process. */
function notices(): InstallationNotices {
  const { app } = api;
  return new InstallationNotices(
    app.get(Transactions),
    app.get(Rollouts),
    app.get(Installations, { strict: false }),
    app.get(Mails, { strict: false }),
    app.get(AccountEvents, { strict: false }),
  );
}

describe('a live host that does not serve the current certificate after the grace period', () => {
  const hook = async () =>
    await tenant.post('/api/v3/account/webhooks', {
      url: 'https://hooks.example.com/',
      events: ['order.current_cert_not_served'],
    });

  it('causes one mail and one webhook for each certificate, whatever number of processes looks', async () => {
    await hook();
    const id = await agent();
    const certificateSha256 = await rolledOut(api, tenant, 'shop');
    await reported(api, planId, { agent: id, state: 'rolled_back', problem: 'nginx -t failed.' });
    await Promise.all([1, 2, 3].map(async () => await notices().notifyOverdue()));
    await notices().notifyOverdue();
    expect(await mails()).toEqual([
      {
        kind: 'certificate-not-served',
        recipient: 'ops@example.com',
        facts: { planId, certificateSha256 },
      },
    ]);
    expect(await events()).toEqual([
      {
        event: 'order.current_cert_not_served',
        body: {
          ...{
            order: 'shop',
            cluster: 'web',
            certificate_sha256: certificateSha256,
            since: timestamp,
            count: 1,
          },
          installations: [
            expect.objectContaining({ host: 'web-1', state: 'rolled_back', problem: 'nginx -t failed.' }),
          ],
        },
      },
    ]);
    await rolledOut(api, tenant, 'shop');
    await notices().notifyOverdue();
    expect(await mails()).toHaveLength(2);
    expect(await events()).toHaveLength(2);
  });

  it('is reported when an older certificate is served', async () => {
    const id = await agent();
    const old = await rolledOut(api, tenant, 'shop', { isServed: true });
    await rolledOut(api, tenant, 'shop', { isServed: true });
    await reported(api, planId, { agent: id, state: 'serving', certificate: old });
    await notices().notifyOverdue();
    expect(await mails()).toHaveLength(1);
  });

  it.each<[string, () => Promise<void>]>([
    [
      'within the grace period',
      async () => {
        await rolledOut(api, tenant, 'shop', { begunHoursAgo: 23 });
        await reported(api, planId, { agent: await agent(), state: 'failed' });
      },
    ],
    [
      'while the agent is offline',
      async () => {
        await rolledOut(api, tenant, 'shop');
        await reported(api, planId, { agent: await agent('web-1', 16), state: 'failed' });
      },
    ],
    [
      'when every host serves it',
      async () => {
        const certificate = await rolledOut(api, tenant, 'shop', { isServed: true });
        await reported(api, planId, { agent: await agent(), state: 'serving', certificate });
        await reported(api, planId, { agent: await agent('web-2'), state: 'installed', certificate });
      },
    ],
    [
      'of a host that has just come back',
      async () => {
        await rolledOut(api, tenant, 'shop');
        await reported(api, planId, { agent: await agent(), state: 'installing', sinceMinutesAgo: 5 });
      },
    ],
    [
      'of a removed agent',
      async () => {
        await rolledOut(api, tenant, 'shop');
        const id = await agent();
        await reported(api, planId, { agent: id, state: 'failed' });
        await api.database.query(`UPDATE agent SET removed_at = now() WHERE id = $1`, [id]);
      },
    ],
    [
      'of a revoked certificate',
      async () => {
        await rolledOut(api, tenant, 'shop');
        await reported(api, planId, { agent: await agent(), state: 'failed' });
        await api.database.query(`UPDATE certificate SET revoked_at = now() WHERE plan_id = $1`, [planId]);
      },
    ],
    [
      'when the order left the cluster',
      async () => {
        await rolledOut(api, tenant, 'shop');
        await reported(api, planId, { agent: await agent(), state: 'failed' });
        await tenant.post(`${orders}/shop`, { cluster: null });
      },
    ],
  ])('is not reported %s', async (_when, prepare) => {
    await hook();
    await prepare();
    await notices().notifyOverdue();
    expect(await mails()).toEqual([]);
    expect(await events()).toEqual([]);
  });

  it('is not sent to a webhook that did not select it', async () => {
    await tenant.post('/api/v3/account/webhooks', { url: 'https://hooks.example.com/' });
    await rolledOut(api, tenant, 'shop');
    await reported(api, planId, { agent: await agent(), state: 'failed' });
    await notices().notifyOverdue();
    expect(await mails()).toHaveLength(1);
    expect(await events()).toEqual([]);
  });
});

describe('a roll-out that stopped', () => {
  it('causes one mail, whatever number of processes looks', async () => {
    const certificateSha256 = await rolledOut(api, tenant, 'shop', { begunHoursAgo: 0, isStopped: true });
    await Promise.all([1, 2, 3].map(async () => await notices().notifyStopped()));
    await notices().notifyStopped();
    expect(await mails()).toMatchObject([{ kind: 'rollout-stopped', facts: { planId, certificateSha256 } }]);
  });

  it('causes none while it goes on', async () => {
    await rolledOut(api, tenant, 'shop', { begunHoursAgo: 0 });
    await notices().notifyStopped();
    expect(await mails()).toEqual([]);
  });
});

describe('metrics', () => {
  it('count agents, installations and waiting keys of clusters with live agents', async () => {
    await api.database.query(`DELETE FROM agent`);
    await api.database.query(`DELETE FROM key_request`);
    const [online] = [await agent('web-1'), await agent('web-2', 60)];
    await reported(api, planId, { agent: online, state: 'failed' });
    await tenant.post('/api/v3/clusters', { name: 'empty' });
    await managedOrder(api, tenant, 'empty', 'other');
    for (const cluster of ['web', 'empty'])
      await tenant.post(`/api/v3/clusters/${cluster}/rekey`, { now: true });
    await api.database.query(`UPDATE key_request SET due_at = now() - interval '10 minutes'`);
    const metrics = new Metrics('spec');
    new InstallationMetrics(api.app.get(DataSource), { metrics } as RunningProcess);
    const text = await metrics.render();
    for (const line of [
      /certwright_agents{state="online".*} 1\n/,
      /certwright_agents{state="offline".*} 1\n/,
      /certwright_installations{state="failed".*} 1\n/,
      /certwright_installations{state="serving".*} 0\n/,
      /certwright_key_requests_waiting{.*} 1\n/,
      /certwright_key_requests_age_seconds{.*} 6\d\d/,
    ])
      expect(text).toMatch(line);
    await api.database.query(
      `UPDATE key_request SET agent_id = $1, assigned_until = now() + interval '1 minute'`,
      [online],
    );
    const selected = new Metrics('spec');
    new InstallationMetrics(api.app.get(DataSource), { metrics: selected } as RunningProcess);
    expect(await selected.render()).toMatch(
      /certwright_key_requests_waiting{.*} 1\n(.*\n)*certwright_key_requests_age_seconds{.*} 0\n/,
    );
  });

  it('are 0 before the migration has run', async () => {
    const metrics = new Metrics('spec');
    const database = { query: () => Promise.resolve([{ exists: false }]) } as unknown as DataSource;
    new InstallationMetrics(database, { metrics } as RunningProcess);
    const text = await metrics.render();
    for (const line of [
      /certwright_agents{state="online".*} 0\n/,
      /certwright_key_requests_age_seconds{.*} 0\n/,
    ])
      expect(text).toMatch(line);
  });

  it('are left out while the database is down, and are back after that', async () => {
    let isDown = true;
    const metrics = new Metrics('spec');
    const database = {
      query: async (statement: string) => {
        if (isDown) throw new Error('down');
        return await api.app.get(DataSource).query<unknown>(statement);
      },
    } as DataSource;
    new InstallationMetrics(database, { metrics } as RunningProcess);
    const whileDown = await metrics.render();
    expect(whileDown).not.toContain('certwright_agents{');
    expect(whileDown).toMatch(/certwright_metrics_missing{process="spec"} 4/);
    isDown = false;
    expect(await metrics.render()).toMatch(/certwright_agents{state="online".*} \d+\n/);
  });
});
