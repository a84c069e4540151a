import { RunningApi, type Tenant } from './running-api';
import { makeKey, SpecAgent, type SpecCluster, specCluster } from './spec-agent';

export const orderPath = (name: string) => `/api/v3/orders/${name}`;

/** What a spec needs that lets agents act: a server, and for each test a tenant with a cluster. */
export class AgentsFixture {
  tenant!: Tenant;
  cluster!: SpecCluster;
  private clusters = 0;

  private constructor(readonly api: RunningApi) {}

  static async start(): Promise<AgentsFixture> {
    return new AgentsFixture(await RunningApi.start({ FAILED_AUTHENTICATION_PER_MIN: '100000' }));
  }

  async stop(): Promise<void> {
    await this.api.stop();
  }

  /** Before each test. */
  async begin(): Promise<{ readonly tenant: Tenant; readonly cluster: SpecCluster }> {
    const tenant = await this.api.tenant();
    this.clusters += 1;
    const cluster = await specCluster(this.api, tenant, `web ${this.clusters}`);
    [this.tenant, this.cluster] = [tenant, cluster];
    return { tenant, cluster };
  }

  async query<T extends object>(statement: string, ...values: unknown[]) {
    return await this.api.database.query<T>(statement, values);
  }

  /** An order of the cluster. */
  async order(name: string, more: object = {}): Promise<void> {
    const dns_names = [`${name}.example.com`];
    const response = await this.tenant.post('/api/v3/orders', {
      name,
      dns_names,
      cluster: this.cluster.name,
      ...more,
    });
    if (response.status !== 201) throw new Error(response.text);
  }

  /** New agents of the cluster. */
  async members(count: number): Promise<SpecAgent[]> {
    const agents: SpecAgent[] = [];
    for (let each = 0; each < count; each += 1) agents.push(await SpecAgent.enrolled(this.api, this.cluster));
    return agents;
  }

  /** One agent with an order that has its key. */
  async keyed(name: string, more: object = {}) {
    const [agent] = (await this.members(1)) as [SpecAgent];
    await this.order(name, more);
    const { id, order: seen } = await agent.task(name);
    const key = makeKey(seen);
    const response = await agent.submit(name, id, key);
    return { agent, id, key, response };
  }

  async issuancesOf(name: string) {
    return await this.query<{ state: string; revision: number; due: boolean }>(
      `SELECT issuance.state, issuance.revision, due_at <= now() AS due FROM issuance JOIN order_v3 USING (plan_id)
       WHERE order_v3.account_id = $1 AND name = $2 ORDER BY issuance.id`,
      this.tenant.accountId,
      name,
    );
  }

  async requestOf(name: string) {
    const [request] = await this.query<{ id: string; reason: string; agent_id: string | null }>(
      `SELECT id, reason, agent_id FROM key_request JOIN order_v3 USING (plan_id) WHERE account_id = $1 AND name = $2`,
      this.tenant.accountId,
      name,
    );
    return request;
  }
}
