import { agentPaths, stateQuery } from '@certwright/agent-contract';
import { AgentsFixture } from '../testing/agents-fixture';
import { makeKey, type SpecAgent } from '../testing/spec-agent';

jest.setTimeout(60_000);

let fixture: AgentsFixture;

beforeAll(async () => {
  fixture = await AgentsFixture.start();
});
afterAll(async () => await fixture.stop());

it('does not let an agent that was just removed make the keys of a rekey', async () => {
  const { tenant, cluster } = await fixture.begin();
  const [stolen, sound] = (await fixture.members(2)) as [SpecAgent, SpecAgent];
  await fixture.order('shop');
  const { id, order: seen } = await stolen.task('shop');
  expect((await stolen.submit('shop', id, makeKey(seen), [sound])).status).toBe(200);
  const path = `/api/v3/clusters/${encodeURIComponent(cluster.name)}`;
  // What docs/managed-orders.md says for a host that may be compromised.
  await stolen.get(agentPaths.members);
  expect((await tenant.delete(`${path}/agents/${stolen.id}`)).status).toBe(204);
  expect((await tenant.post(`${path}/rekey`, { now: true })).json).toEqual({ orders: 1 });
  // For up to 5 s each process still takes it for a member: it waits, and a sweep may select it.
  const waits = stolen.get(`${agentPaths.state}${stateQuery(1_000_000, 3)}`);
  await waits;
  expect((await fixture.requestOf('shop'))?.agent_id).not.toBe(stolen.id);
  // Of a sweep that ran at the same time as the removal.
  await fixture.query(
    `UPDATE key_request SET agent_id = $1, assigned_until = now() + interval '60 seconds'`,
    stolen.id,
  );
  const task = (await fixture.requestOf('shop'))?.id ?? '';
  expect((await stolen.submit('shop', task, makeKey(seen), [sound])).status).toBe(401);
});
