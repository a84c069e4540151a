import { agentPaths } from '@certwright/agent-contract';
import { AgentsFixture } from '../testing/agents-fixture';
import type { Tenant } from '../testing/running-api';
import { enrolmentToken, SpecAgent, type SpecCluster, specCluster } from '../testing/spec-agent';

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

describe('enrolment', () => {
  it('makes a host a member, and the same request again gets the same response without a further use', async () => {
    const token = await enrolmentToken(fixture.api, cluster);
    const agent = new SpecAgent(fixture.api, cluster);
    const first = await agent.enrol(token);
    expect(first).toMatchObject({ status: 200 });
    expect(first.json).toEqual({
      agent_id: agent.id,
      cluster: {
        name: cluster.name,
        cluster_key: Buffer.from(cluster.key?.publicKey ?? []).toString('base64url'),
      },
    });
    await fixture.query(
      `UPDATE cluster_enrolment SET expires_at = now() WHERE account_id = $1`,
      tenant.accountId,
    );
    expect((await agent.enrol(token)).json).toEqual(first.json);
    expect(
      await fixture.query(`SELECT used FROM cluster_enrolment WHERE account_id = $1`, tenant.accountId),
    ).toEqual([{ used: 1 }]);
  });

  it('counts a token that several hosts use at the same time', async () => {
    const token = await enrolmentToken(fixture.api, cluster, { uses: 2 });
    const agents = Array.from({ length: 6 }, () => new SpecAgent(fixture.api, cluster));
    const statuses = await Promise.all(agents.map(async (agent) => (await agent.enrol(token)).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(2);
    expect(statuses.filter((status) => status === 401)).toHaveLength(4);
  });

  it('responds the same to unknown, used up, expired and revoked tokens, and to another key of a used one', async () => {
    const tokens = {
      unknown: 'x'.repeat(43),
      used: await enrolmentToken(fixture.api, cluster),
      expired: await enrolmentToken(fixture.api, cluster, { expiresIn: '-1 second' }),
      revoked: await enrolmentToken(fixture.api, cluster),
    };
    await SpecAgent.enrolled(fixture.api, cluster, tokens.used);
    await fixture.query(
      `UPDATE cluster_enrolment SET revoked_at = now() WHERE used = 0 AND expires_at > now()`,
    );
    const responses = await Promise.all(
      Object.values(tokens).map(async (token) => await new SpecAgent(fixture.api, cluster).enrol(token)),
    );
    for (const { status, json } of responses) {
      expect(status).toBe(401);
      expect(json).toEqual(responses[0]?.json);
    }
  });

  it('refuses a statement that is missing, by another key, or about other keys', async () => {
    const token = await enrolmentToken(fixture.api, cluster);
    const agent = new SpecAgent(fixture.api, cluster);
    const other = new SpecAgent(fixture.api, cluster);
    const body = agent.enrolBody(token);
    const foreign = new SpecAgent(fixture.api, await specCluster(fixture.api, tenant, 'foreign'));
    for (const statement of [
      null,
      other.enrolBody(token).statement,
      foreign.enrolBody(token).statement,
      'x.y.z',
    ]) {
      const { status, json } = await agent.post(agentPaths.enrol, { ...body, statement });
      expect([status, json.sub_errors]).toMatchObject([400, [{ field: 'statement', code: 'invalid_value' }]]);
    }
    expect((await agent.enrol(token)).status).toBe(200);
  });

  it('refuses a request that another key than that of its body signed', async () => {
    const agent = new SpecAgent(fixture.api, cluster);
    const body = agent.enrolBody(await enrolmentToken(fixture.api, cluster));
    const other = new SpecAgent(fixture.api, cluster);
    expect((await agent.call('POST', agentPaths.enrol, body, { key: other.identity })).status).toBe(401);
  });

  it('admits one agent to a cluster without a cluster key, also of two at the same time', async () => {
    const single = await specCluster(fixture.api, tenant, 'single', null);
    const agents = [new SpecAgent(fixture.api, single), new SpecAgent(fixture.api, single)];
    const tokens = [await enrolmentToken(fixture.api, single), await enrolmentToken(fixture.api, single)];
    const responses = await Promise.all(
      agents.map(async (agent, index) => await agent.enrol(tokens[index] ?? '')),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(responses.find(({ status }) => status === 409)?.json.code).toBe('cluster_key_required');
  });

  it.each([
    ['a name with a line feed', { name: 'a\nb' }],
    ['a name that is too long', { name: 'n'.repeat(256) }],
    ['a key that is not canonical', { sealing_key: `${'A'.repeat(42)}B` }],
    ['a sealing key of small order', { sealing_key: 'A'.repeat(43) }],
    ['no platform', { platform: undefined }],
  ])('refuses %s', async (_, change) => {
    const agent = new SpecAgent(fixture.api, cluster);
    const body = { ...agent.enrolBody(await enrolmentToken(fixture.api, cluster)), ...change };
    expect((await agent.post(agentPaths.enrol, body)).status).toBe(400);
  });

  it('ignores members that a newer agent sends', async () => {
    const agent = new SpecAgent(fixture.api, cluster);
    const body = { ...agent.enrolBody(await enrolmentToken(fixture.api, cluster)), colour: 'blue' };
    expect((await agent.post(agentPaths.enrol, body)).status).toBe(200);
  });
});
