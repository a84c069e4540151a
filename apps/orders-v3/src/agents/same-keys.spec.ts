import { AgentsFixture } from '../testing/agents-fixture';
import { enrolmentToken, makeKey, SpecAgent, specCluster } from '../testing/spec-agent';

jest.setTimeout(60_000);

let fixture: AgentsFixture;

beforeAll(async () => {
  fixture = await AgentsFixture.start();
});
afterAll(async () => await fixture.stop());

it('accepts one key for one of two orders, also at the same time', async () => {
  await fixture.begin();
  const [agent] = (await fixture.members(1)) as [SpecAgent];
  const seen = { dns_names: ['same.example.com'], key_type: 'ecdsa' as const };
  const statuses = new Set<string>();
  for (let round = 0; round < 5; round += 1) {
    const names = [`one ${round}`, `other ${round}`];
    for (const name of names) await fixture.order(name, seen);
    const tasks: string[] = [];
    for (const name of names) {
      await fixture.query(
        `UPDATE key_request SET agent_id = $1, assigned_until = now() + interval '60 s' FROM order_v3
         WHERE order_v3.plan_id = key_request.plan_id AND name = $2`,
        agent.id,
        name,
      );
      tasks.push((await fixture.requestOf(name))?.id ?? '');
    }
    const key = makeKey(seen);
    const responses = await Promise.all(
      names.map(
        async (name, at) =>
          await agent.post(`/api/v3/agent/orders/${encodeURIComponent(name)}/csr`, {
            task: tasks[at],
            csr: key.csr,
            keys: [],
          }),
      ),
    );
    statuses.add(
      responses
        .map(({ status }) => status)
        .sort()
        .join(),
    );
  }
  expect([...statuses]).toEqual(['200,400']);
});

it('enrols one pair of keys in one of two clusters, also at the same time', async () => {
  const { tenant, cluster } = await fixture.begin();
  const statuses = new Set<string>();
  for (let round = 0; round < 5; round += 1) {
    const other = await specCluster(fixture.api, tenant, `other ${round}`, cluster.key);
    const agent = new SpecAgent(fixture.api, cluster);
    const tokens = [await enrolmentToken(fixture.api, cluster), await enrolmentToken(fixture.api, other)];
    const responses = await Promise.all(tokens.map(async (token) => await agent.enrol(token)));
    statuses.add(
      responses
        .map(({ status }) => status)
        .sort()
        .join(),
    );
  }
  expect([...statuses]).toEqual(['200,401']);
});
