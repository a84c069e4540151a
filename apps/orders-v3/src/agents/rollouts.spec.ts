import { AgentsFixture, orderPath } from '../testing/agents-fixture';
import { changeCurrent } from '../testing/current-certificate';
import type { Tenant } from '../testing/running-api';
import { installationOf, makeKey, randomHash, type SpecAgent, type SpecCluster } from '../testing/spec-agent';
import { ClusterChangesRepository } from './cluster-changes.repository';
import { Rollouts } from './rollouts.repository';

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

describe('a roll-out', () => {
  const current = async () => {
    const id = await changeCurrent(fixture.api, tenant, 'shop');
    const [row] = await fixture.query<{ sha256: Buffer }>(`SELECT sha256 FROM certificate WHERE id = $1`, id);
    return row?.sha256.toString('hex') ?? '';
  };

  /** Three agents that have all seen a new certificate. @returns the first one, and the others */
  async function begun() {
    const agents = await fixture.members(3);
    await fixture.order('shop');
    for (const agent of agents) await agent.state(0);
    const [maker] = agents as [SpecAgent];
    const { id, order: seen } = await maker.task('shop');
    await maker.submit('shop', id, makeKey(seen), agents.slice(1));
    const sha256 = await current();
    const seenBy = await Promise.all(
      agents.map(
        async (agent) => await agent.until('shop', ({ certificate }) => certificate?.sha256 === sha256),
      ),
    );
    const firsts = agents.filter((_, index) => seenBy[index]?.install === 'go');
    expect(firsts).toHaveLength(1);
    const [first] = firsts as [SpecAgent];
    return { first, others: agents.filter((agent) => agent !== first), sha256 };
  }
  const goes = (agent: SpecAgent) => agent.until('shop', ({ install }) => install === 'go');

  it('lets one host go first, and the others when it serves the certificate', async () => {
    const { first, others, sha256 } = await begun();
    expect((await first.report([installationOf('shop', 'installing', null)])).status).toBe(204);
    expect((await first.report([installationOf('shop', 'serving', sha256)])).status).toBe(204);
    await Promise.all(others.map(goes));
  });

  it('passes the turn of a broken host on, and stops after two', async () => {
    const { first, others } = await begun();
    await first.report([installationOf('shop', 'rolled_back', randomHash())]);
    const next = await Promise.race(others.map(async (agent) => (await goes(agent), agent)));
    await next.report([installationOf('shop', 'failed', null)]);
    const [row] = await fixture.query(
      `SELECT stopped_at IS NOT NULL AS stopped, cardinality(broken) AS broken FROM rollout JOIN order_v3 USING (plan_id) WHERE account_id = $1`,
      tenant.accountId,
    );
    expect(row).toEqual({ stopped: true, broken: 2 });
    await tenant.post(orderPath('shop'), {});
    const [again] = await fixture.query(
      `SELECT stopped_at, cardinality(broken) AS broken FROM rollout JOIN order_v3 USING (plan_id) WHERE account_id = $1`,
      tenant.accountId,
    );
    expect(again).toEqual({ stopped_at: null, broken: 0 });
  });

  it('goes on when a broken host succeeds later', async () => {
    const { first, others, sha256 } = await begun();
    await first.report([installationOf('shop', 'failed', null)]);
    await first.report([installationOf('shop', 'serving', sha256)]);
    await Promise.all(others.map(goes));
  });

  it('stays stopped when a host that served the certificate before reports it again', async () => {
    const { first, others, sha256 } = await begun();
    const serving = async () => await first.report([installationOf('shop', 'serving', sha256)]);
    await serving();
    await Promise.all(others.map(goes));
    for (const agent of others) await agent.report([installationOf('shop', 'rolled_back', randomHash())]);
    const stopped = async () =>
      await fixture.query(
        `SELECT stopped_at IS NOT NULL AS stopped, cardinality(broken) AS broken FROM rollout JOIN order_v3 USING (plan_id) WHERE account_id = $1`,
        tenant.accountId,
      );
    expect(await stopped()).toEqual([{ stopped: true, broken: 2 }]);
    // Agents report everything once an hour.
    await serving();
    expect(await stopped()).toEqual([{ stopped: true, broken: 2 }]);
  });

  it('does not wait for a host that does not use the order, nor for a silent one', async () => {
    const { first, others } = await begun();
    await first.report([], { without_points: ['shop'] });
    await Promise.all(others.map(goes));
    const next = await current();
    await Promise.all(
      others.map(
        async (agent) => await agent.until('shop', ({ certificate }) => certificate?.sha256 === next),
      ),
    );
    await fixture.query(
      `UPDATE rollout SET first_agent = $1, first_since = now() - interval '3 minutes' FROM order_v3 WHERE order_v3.plan_id = rollout.plan_id AND account_id = $2`,
      first.id,
      tenant.accountId,
    );
    await Promise.race(others.map(goes));
  });

  it('is not needed in a cluster with one agent', async () => {
    const { agent } = await fixture.keyed('shop');
    const sha256 = await current();
    expect(await agent.until('shop', ({ certificate }) => certificate?.sha256 === sha256)).toMatchObject({
      install: 'go',
    });
  });
});

it('a roll-out of the current certificate is not replaced by one of a certificate that was read earlier', async () => {
  const { agent } = await fixture.keyed('shop');
  await fixture.members(1);
  const key = { accountId: tenant.accountId, name: cluster.name };
  const read = async () => (await fixture.api.app.get(ClusterChangesRepository).after(key, 0))?.orders ?? [];
  await changeCurrent(fixture.api, tenant, 'shop');
  const earlier = await read();
  await changeCurrent(fixture.api, tenant, 'shop');
  const current = await read();
  for (const orders of [current, earlier]) await fixture.api.app.get(Rollouts).begin(orders, [agent.id]);
  expect(
    await fixture.query(
      `SELECT encode(rollout.certificate_sha256, 'hex') AS sha256 FROM rollout JOIN order_v3 USING (plan_id) WHERE account_id = $1`,
      tenant.accountId,
    ),
  ).toEqual([{ sha256: current[0]?.certificate?.sha256 }]);
});
