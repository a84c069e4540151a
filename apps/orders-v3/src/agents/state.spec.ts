import { randomBytes } from 'node:crypto';
import { agentPaths, readMembers, stateQuery } from '@certwright/agent-contract';
import { eventually } from '@certwright/testing';
import { AgentsFixture, orderPath } from '../testing/agents-fixture';
import { changeCurrent } from '../testing/current-certificate';
import { RunningApi, type Tenant } from '../testing/running-api';
import { installationOf, makeKey, SpecAgent, type SpecCluster, specCluster } from '../testing/spec-agent';
import { AgentTasks } from './agent-tasks.repository';

jest.setTimeout(60_000);

let fixture: AgentsFixture;
let tenant: Tenant;
let cluster: SpecCluster;

beforeAll(async () => {
  fixture = await AgentsFixture.start();
});
afterAll(async () => await fixture.stop());
beforeEach(async () => {
  ({ tenant, cluster } = await fixture.begin());
});

describe('the state', () => {
  it('has all orders at first, then only what changed, and 204 when nothing does', async () => {
    await fixture.order('one');
    await fixture.order('two');
    const [agent] = (await fixture.members(1)) as [SpecAgent];
    const first = await agent.state(0);
    expect(first?.orders.map(({ name }) => name)).toEqual(['one', 'two']);
    expect(first).toMatchObject({ more: false, reset: false, released: [], cluster: { name: cluster.name } });
    await agent.task('two');
    while ((await agent.state(0)) !== null);
    expect(await agent.state(1)).toBeNull();
    await tenant.post(orderPath('one'), { muted: true });
    expect((await agent.state(10))?.orders).toMatchObject([{ name: 'one', revision: 2 }]);
  });

  it('wakes a waiting agent within two seconds of a change, without a statement while it waits', async () => {
    const [agent] = (await fixture.members(1)) as [SpecAgent];
    await agent.state(0);
    const waiting = agent.state(30);
    await eventually(async () => {
      const statements = await fixture.api.statementsOf(
        async () => await new Promise((resolve) => setImmediate(resolve)),
      );
      expect(statements).toEqual([]);
    });
    await fixture.order('late');
    const begun = Date.now();
    expect((await waiting)?.orders).toMatchObject([{ name: 'late' }]);
    expect(Date.now() - begun).toBeLessThan(2_000);
  });

  it('lists what left the cluster, and forgets it when the name comes back', async () => {
    await fixture.order('gone');
    await fixture.order('back');
    const [agent] = (await fixture.members(1)) as [SpecAgent];
    await agent.state(0);
    await tenant.delete(orderPath('gone'));
    await tenant.delete(orderPath('back'));
    await fixture.order('back');
    const state = await agent.state(0);
    expect(state?.released).toEqual(['gone']);
    expect(state?.orders.map(({ name }) => name)).toEqual(['back']);
  });

  it('forgets orders that left long ago, and old keys that neither an order nor a certificate has', async () => {
    for (const name of ['gone', 'kept']) await fixture.order(name);
    await tenant.delete(orderPath('gone'));
    await fixture.query(
      `UPDATE cluster_release SET released_at = now() - interval '1 year' WHERE account_id = $1`,
      tenant.accountId,
    );
    await fixture.query(
      `INSERT INTO managed_key (account_id, cluster, spki_sha256, plan_id, made_by, task_id, csr_sha256, revision, created_at)
       SELECT account_id, cluster, $2, plan_id, 'x', 1, $2, 1, now() - interval '2 days' FROM order_v3 WHERE account_id = $1`,
      tenant.accountId,
      randomBytes(32),
    );
    const [before] = await fixture.query<{ version: string }>(
      `SELECT version FROM cluster_release WHERE account_id = $1`,
      tenant.accountId,
    );
    await fixture.api.app.get(AgentTasks).forget();
    for (const table of ['cluster_release', 'managed_key'])
      expect(await fixture.query(`SELECT FROM ${table} WHERE account_id = $1`, tenant.accountId)).toEqual([]);
    expect(
      await fixture.query(
        `SELECT reset_before AS version FROM cluster WHERE account_id = $1`,
        tenant.accountId,
      ),
    ).toEqual([before]);
  });

  it.each([0, 500])(
    'has pages of 200 orders, without gaps, when %i versions are forgotten',
    async (forgotten) => {
      const [agent] = (await fixture.members(1)) as [SpecAgent];
      await fixture.query(
        `WITH plans AS (INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token)
         SELECT $1::bigint, 1, true, false, true, 'pages ' || $1::bigint || ' ' || number FROM generate_series(1, 450) AS number
         RETURNING id)
       INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, cluster, product, key_type)
       SELECT id, $1::bigint, 'order ' || id, '{example.com}', '{}', $2::text, 'free_ca', 'rsa' FROM plans`,
        tenant.accountId,
        cluster.name,
      );
      await fixture.query(
        `UPDATE cluster SET reset_before = $2::bigint, version = version + $2 WHERE account_id = $1`,
        tenant.accountId,
        forgotten,
      );
      const names = new Set<string>();
      const sizes: number[] = [];
      for (;;) {
        const state = await agent.state(0);
        expect(state?.reset).toBe(false);
        sizes.push(state?.orders.length ?? 0);
        for (const { name } of state?.orders ?? []) names.add(name);
        if (state?.more !== true) break;
      }
      expect(sizes).toEqual([200, 200, 50]);
      expect(names.size).toBe(450);
    },
  );

  it('begins again for a version that is unknown: of the future, or from before what is forgotten', async () => {
    const [agent] = (await fixture.members(1)) as [SpecAgent];
    await agent.state(0);
    agent.version = 1_000_000;
    expect(await agent.state(10)).toMatchObject({ reset: true, orders: [] });
    await fixture.query(
      `UPDATE cluster SET reset_before = 5, version = 10 WHERE account_id = $1`,
      tenant.accountId,
    );
    agent.version = 3;
    expect(await agent.state(0)).toMatchObject({ reset: true, orders: [] });
  });

  it('shows the orders of its cluster alone', async () => {
    const other = await specCluster(fixture.api, tenant, 'other');
    const stranger = await SpecAgent.enrolled(fixture.api, other);
    const foreign = await fixture.api.tenant();
    const foreigner = await SpecAgent.enrolled(
      fixture.api,
      await specCluster(fixture.api, foreign, cluster.name),
    );
    const { key } = await fixture.keyed('shop');
    const id = await changeCurrent(fixture.api, tenant, 'shop');
    const [row] = await fixture.query<{ sha256: Buffer }>(`SELECT sha256 FROM certificate WHERE id = $1`, id);
    const hash = row?.sha256.toString('hex') ?? '';
    for (const agent of [stranger, foreigner]) {
      expect((await agent.state(0))?.orders).toEqual([]);
      expect((await agent.get(agentPaths.certificate(hash))).status).toBe(404);
      expect((await agent.get(agentPaths.keys('shop', key.spkiSha256))).status).toBe(404);
      expect(
        (await agent.submit('shop', '1', makeKey({ dns_names: ['shop.example.com'], key_type: 'rsa' })))
          .status,
      ).toBe(404);
      expect((await agent.post(agentPaths.keys('shop', key.spkiSha256), { keys: [] })).status).toBe(404);
      expect((await agent.report([installationOf('shop', 'serving', hash)])).status).toBe(400);
      expect(readMembers(Buffer.from((await agent.get(agentPaths.members)).text)).members).toHaveLength(1);
    }
  });
});

describe('a process with too many waiting agents', () => {
  it('refuses further ones with 503 and Retry-After, and ends the waits of the others when it stops', async () => {
    const small = await RunningApi.start({ MAX_WAITING_AGENTS: '1', DRAIN_TIME: '5000' });
    const own = await specCluster(small, await small.tenant(), 'web');
    const [one, other] = [await SpecAgent.enrolled(small, own), await SpecAgent.enrolled(small, own)];
    await one.state(0);
    await other.state(0);
    const waiting = one.get(`${agentPaths.state}${stateQuery(one.version, 60)}`);
    await eventually(async () => {
      const { status, headers, json } = await other.get(`${agentPaths.state}${stateQuery(other.version, 1)}`);
      expect([status, json?.code]).toEqual([503, 'service_outage']);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    });
    expect((await other.get(agentPaths.members)).status).toBe(200);
    const begun = Date.now();
    await small.stop();
    expect((await waiting).status).toBe(204);
    expect(Date.now() - begun).toBeLessThan(30_000);
  });
});
