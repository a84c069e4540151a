import { createHash } from 'node:crypto';
import { agentPaths } from '@certwright/agent-contract';
import { AgentsFixture } from '../testing/agents-fixture';
import { changeCurrent } from '../testing/current-certificate';
import type { Tenant } from '../testing/running-api';
import { SpecAgent, type SpecCluster } from '../testing/spec-agent';

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

it('reads the chain of a certificate of the cluster', async () => {
  const { agent } = await fixture.keyed('shop');
  const id = await changeCurrent(fixture.api, tenant, 'shop');
  const [row] = await fixture.query<{ leaf: Buffer }>(`SELECT leaf FROM certificate WHERE id = $1`, id);
  const leaf = row?.leaf ?? Buffer.alloc(0);
  const hash = createHash('sha256').update(leaf).digest('hex');
  const { status, json } = await agent.get(agentPaths.certificate(hash));
  expect([status, json.leaf]).toEqual([200, leaf.toString('base64')]);
  expect((await agent.get(agentPaths.certificate('nonsense'))).status).toBe(404);
});

it('sends every member of a response that is documented for agents', async () => {
  const { agent: holder, key } = await fixture.keyed('shop');
  await changeCurrent(fixture.api, tenant, 'shop');
  const late = await SpecAgent.enrolled(fixture.api, cluster);
  await late.state(0);
  const { certificate } = await holder.until('shop', ({ tasks }) =>
    tasks.some(({ type }) => type === 'seal_key_for'),
  );
  const keys = agentPaths.keys('shop', key.spkiSha256);
  await holder.post(keys, { keys: holder.seal('shop', key, [late]) });
  for (const at of [keys, agentPaths.members, agentPaths.certificate(certificate?.sha256 ?? '')])
    expect((await late.get(at)).status).toBe(200);
  // Of the future.
  late.version = 1_000_000;
  expect(await late.state(0)).toMatchObject({ reset: true });
  const absent = fixture.api.documented.absentMembers().filter((member) => schemasOfAgents.test(member));
  expect(absent).toEqual([]);
});

const schemasOfAgents =
  /^(Agent(Cluster|Certificate|Task|Order|State|Chain)|Enrolled|AcceptedKeys|Member|Members|SealedKeys?|CsrAccepted)Schema\./;
