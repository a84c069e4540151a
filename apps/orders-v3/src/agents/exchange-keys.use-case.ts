import type { CertificateMessage, KeysMessage, MembersResponse, SealedKey } from '@certwright/agent-contract';
import { Transactions } from '@certwright/core-schema';
import { Problem } from '@certwright/errors';
import { Injectable } from '@nestjs/common';
import { OrdersRepository } from '../orders/orders.repository';
import { noSuchManagedCertificate, noSuchManagedOrder, notAsked } from '../wire/problems';
import type { Agent } from './agent-directory';
import { AgentOrders } from './agent-orders.repository';

/** What members of a cluster get from each other through the server, and the certificates of its orders. */
@Injectable()
export class ExchangeKeys {
  constructor(
    private readonly transactions: Transactions,
    private readonly orders: OrdersRepository,
    private readonly agentOrders: AgentOrders,
  ) {}

  async members(agent: Agent): Promise<MembersResponse> {
    const { version, members } = await this.agentOrders.members(agent);
    return {
      version,
      members: members.map(({ id, name, identityKey, sealingKey, statement }) => ({
        agent_id: id,
        name,
        identity_key: identityKey.toString('base64url'),
        sealing_key: sealingKey.toString('base64url'),
        statement,
      })),
    };
  }

  /** @throws Problem `not_found` also for a certificate of another cluster */
  async certificate(agent: Agent, sha256: string): Promise<CertificateMessage> {
    const found = isHash(sha256)
      ? await this.agentOrders.certificate(agent, Buffer.from(sha256, 'hex'))
      : null;
    if (found === null) throw noSuchManagedCertificate();
    return {
      leaf: found.leaf.toString('base64'),
      chain: found.chain.map((certificate) => certificate.toString('base64')),
      root: found.root.toString('base64'),
    };
  }

  /** Those for the agent, possibly none. @throws Problem `not_found` */
  async keysOf(agent: Agent, order: string, spkiSha256: string): Promise<KeysMessage> {
    const keys = isHash(spkiSha256)
      ? await this.agentOrders.sealedKeys(agent, order, Buffer.from(spkiSha256, 'hex'))
      : null;
    if (keys === null) throw noSuchManagedOrder();
    return { keys };
  }

  /**
   * Copies of a key for members that joined after it was made, from the agent that was chosen for it. A second copy for
   * a receiver changes nothing.
   *
   * @throws Problem `not_found`, `not_asked`, `bad_request`
   */
  async seal(agent: Agent, name: string, spkiSha256: string, keys: readonly SealedKey[]): Promise<void> {
    if (!isHash(spkiSha256)) throw noSuchManagedOrder();
    const hash = Buffer.from(spkiSha256, 'hex');
    await this.transactions.run(async (tx) => {
      const order = await this.orders.lock(tx, agent.accountId, name);
      if (order?.cluster !== agent.cluster) throw noSuchManagedOrder();
      const key = await this.agentOrders.managedKey(tx, agent, hash);
      // Otherwise a host that is no longer trusted could send useless copies before the right ones.
      if (key?.planId !== order.planId || key.sealer !== agent.id) throw notAsked();
      const { others } = await this.agentOrders.othersOf(tx, agent);
      const at = keys.findIndex(({ sender, receiver }) => sender !== agent.id || receiver === agent.id);
      if (at >= 0)
        throw Problem.ofFields([
          {
            field: `keys[${at}]`,
            code: 'invalid_value',
            message: 'It must be from this agent to another one.',
          },
        ]);
      // Members that were removed meanwhile get none.
      const wanted = keys.filter(({ receiver }) => others.has(receiver) && receiver !== key.madeBy);
      const added = await this.agentOrders.insertSealed(tx, agent, hash, wanted);
      if (added > 0) await tx.query(`SELECT order_is_seen_by_agents($1)`, [order.planId]);
    });
  }
}

const isHash = (text: string) => /^[0-9a-f]{64}$/.test(text);
