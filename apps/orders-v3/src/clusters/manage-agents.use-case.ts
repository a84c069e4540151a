import { ClusterAgents, Clusters } from '@certwright/accounts';
import { Transactions } from '@certwright/core-schema';
import {
  After,
  emptyResponse,
  type HttpResponse,
  jsonResponse,
  Limit,
  maxPageSize,
  pageOf,
} from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { noSuchAgent, noSuchCluster } from '../wire/problems';
import { agentJson } from './cluster-json';

/** 16 bytes in base64url. */
function isAgentId(text: string): boolean {
  return /^[A-Za-z0-9_-]{22}$/.test(text);
}

export class AgentsQuery {
  @After(isAgentId, 'Id of the last agent of the page before.')
  after: string | null = null;

  @Limit()
  limit = maxPageSize;
}

@Injectable()
export class ManageAgents {
  constructor(
    private readonly transactions: Transactions,
    private readonly clusters: Clusters,
    private readonly agents: ClusterAgents,
    private readonly addresses: Addresses,
  ) {}

  /** By id. @throws Problem `not_found` */
  async page(accountId: string, name: string, query: AgentsQuery): Promise<HttpResponse> {
    const { after, limit } = query;
    await this.assertExists(accountId, name);
    const found = await this.agents.page({ accountId, name }, after, limit + 1);
    const { rows, headers } = pageOf(found, query, this.addresses.agents(name), ({ id }) => id);
    return jsonResponse(200, rows.map(agentJson), headers);
  }

  /** @throws Problem `not_found` */
  async one(accountId: string, name: string, id: string): Promise<HttpResponse> {
    await this.assertExists(accountId, name);
    const agent = isAgentId(id) ? await this.agents.find({ accountId, name }, id) : null;
    if (agent === null) throw noSuchAgent();
    return jsonResponse(200, agentJson(agent));
  }

  /** Repeating it changes nothing. @throws Problem `not_found` */
  async remove(accountId: string, name: string, id: string): Promise<HttpResponse> {
    return await this.transactions.run(async (tx) => {
      if ((await this.clusters.find(accountId, name, tx)) === null) throw noSuchCluster();
      const isKnown = isAgentId(id) && (await this.agents.remove(tx, { accountId, name }, id));
      if (!isKnown) throw noSuchAgent();
      return emptyResponse;
    });
  }

  private async assertExists(accountId: string, name: string): Promise<void> {
    if (!(await this.clusters.exists(accountId, name))) throw noSuchCluster();
  }
}
