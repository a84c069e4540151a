import { agentPaths, stateQuery } from '@certwright/agent-contract';
import { eventually } from '@certwright/testing';
import { AgentsFixture } from '../testing/agents-fixture';
import { RunningApi, type Tenant } from '../testing/running-api';
import { SpecAgent, type SpecCluster, specCluster } from '../testing/spec-agent';

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

describe('a signature', () => {
  it('is needed: API keys are refused, alone and with a signature', async () => {
    const [agent] = (await fixture.members(1)) as [SpecAgent];
    expect((await tenant.get(agentPaths.members)).status).toBe(401);
    const authorization = `Bearer ${tenant.apiKey}`;
    expect((await agent.call('GET', agentPaths.members, null, { headers: { authorization } })).status).toBe(
      401,
    );
    expect((await agent.get(agentPaths.members)).status).toBe(200);
  });

  it('admits to no other route', async () => {
    const [agent] = (await fixture.members(1)) as [SpecAgent];
    for (const target of ['/api/v3/orders', '/api/v3/clusters'])
      expect((await agent.get(target)).status).toBe(401);
  });

  it('is refused with one response when it is by another key, about another request, or of an unknown agent', async () => {
    const [agent] = (await fixture.members(1)) as [SpecAgent];
    const unknown = new SpecAgent(fixture.api, cluster);
    const digest = { 'content-digest': 'sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:' };
    const responses = [
      await unknown.get(agentPaths.members),
      await agent.call('GET', agentPaths.members, null, { key: unknown.identity }),
      await agent.call('GET', agentPaths.members, null, { headers: { signature: 'sig1=:AAAA:' } }),
      await agent.call('POST', agentPaths.reports, {}, { headers: digest }),
    ];
    for (const { status, json } of responses) expect([status, json]).toEqual([401, responses[0]?.json]);
  });

  it('by another key does not use up the rate of the agent', async () => {
    const limited = await RunningApi.start({ READS_PER_S: '1', FAILED_AUTHENTICATION_PER_MIN: '100000' });
    const own = await specCluster(limited, await limited.tenant(), 'web');
    const agent = await SpecAgent.enrolled(limited, own);
    const { identity: key } = new SpecAgent(limited, own);
    const statuses = new Set<number>();
    for (let attempt = 0; attempt < 30; attempt += 1)
      statuses.add((await agent.call('GET', agentPaths.members, null, { key })).status);
    expect([...statuses]).toEqual([401]);
    expect((await agent.get(agentPaths.members)).status).toBe(200);
    await limited.stop();
  });

  it('by a wrong clock is reported as that, and only when everything else is right', async () => {
    const [agent] = (await fixture.members(1)) as [SpecAgent];
    agent.clockOffsetS = -3_600;
    const { status, json } = await agent.get(agentPaths.members);
    expect([status, json.code]).toEqual([401, 'clock_skew']);
    expect(json.message).toContain('s behind');
    const unknown = new SpecAgent(fixture.api, cluster);
    unknown.clockOffsetS = -3_600;
    expect((await unknown.get(agentPaths.members)).json.code).toBe('bad_credentials');
  });

  it('is refused within ten seconds once the agent was removed, also while it waits', async () => {
    const [agent] = (await fixture.members(1)) as [SpecAgent];
    await agent.state(0);
    const waiting = agent.get(`${agentPaths.state}${stateQuery(agent.version, 60)}`);
    const begun = Date.now();
    await eventually(async () => expect((await agent.get(agentPaths.members)).status).toBe(200));
    await tenant.delete(`/api/v3/clusters/${encodeURIComponent(cluster.name)}/agents/${agent.id}`);
    expect((await waiting).status).toBe(401);
    await eventually(async () => expect((await agent.get(agentPaths.members)).status).toBe(401));
    expect(Date.now() - begun).toBeLessThan(10_000);
  });

  it('of a disabled account is refused', async () => {
    const [agent] = (await fixture.members(1)) as [SpecAgent];
    await fixture.query(`UPDATE account SET disabled_at = now() WHERE id = $1`, tenant.accountId);
    await eventually(async () => expect((await agent.get(agentPaths.members)).status).toBe(401), {
      withinMs: 10_000,
    });
  });
});

it('writes when agents were last seen, and by how much their clocks differ', async () => {
  const [agent] = (await fixture.members(1)) as [SpecAgent];
  await fixture.query(
    `UPDATE agent SET last_seen_at = now() - interval '20 minutes' WHERE id = $1`,
    agent.id,
  );
  agent.clockOffsetS = 100;
  await eventually(
    async () => {
      await agent.get(agentPaths.members);
      const [row] = await fixture.query<{ seen: boolean; offset: number }>(
        `SELECT last_seen_at > now() - interval '1 minute' AS seen, clock_offset_s AS offset FROM agent WHERE id = $1`,
        agent.id,
      );
      expect(row?.seen).toBe(true);
      expect(Math.abs((row?.offset ?? 0) - 100)).toBeLessThan(5);
    },
    { withinMs: 20_000 },
  );
});
