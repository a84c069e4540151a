import type { CsrResponse, SealedKey } from '@certwright/agent-contract';
import { Transactions, type Tx } from '@certwright/core-schema';
import { type FieldFault, Problem } from '@certwright/errors';
import { BlockedKeys, endKeyRequest, Products } from '@certwright/ordering';
import type { Product } from '@certwright/issuance';
import { checkCsr, readCsr, sha256 } from '@certwright/pki';
import { Injectable } from '@nestjs/common';
import type { OrderCsr, StoredOrder } from '../orders/order';
import { OrderChanges } from '../orders/order-changes';
import { OrdersRepository } from '../orders/orders.repository';
import { csrFaults } from '../wire/outcome-messages';
import { membersChanged, noSuchManagedOrder, notAsked } from '../wire/problems';
import type { Agent } from './agent-directory';
import { AgentOrders, type KeyRequest } from './agent-orders.repository';
import type { CsrBody } from './agent-requests';

/** When a key is requested again whose certificate the account could not pay for. */
const unpaidRetry = `interval '1 hour'`;

/** A CSR that could be read. */
interface Readable extends OrderCsr {
  readonly faultsFor: (order: StoredOrder, product: Product, isBlocked: boolean) => readonly FieldFault[];
}

/** What the rules of a CSR need from elsewhere, read before the transaction begins. */
@Injectable()
export class CsrContext {
  constructor(
    private readonly products: Products,
    private readonly blockedKeys: BlockedKeys,
  ) {}

  async of(accountId: string, { spkiSha256 }: OrderCsr) {
    const products = await this.products.byName();
    return { products, isBlocked: await this.blockedKeys.has(spkiSha256, accountId) };
  }
}

@Injectable()
export class SubmitCsr {
  constructor(
    private readonly transactions: Transactions,
    private readonly orders: OrdersRepository,
    private readonly changes: OrderChanges,
    private readonly agentOrders: AgentOrders,
    private readonly context: CsrContext,
  ) {}

  /**
   * The response to a task `make_key`: CSR, key and sealed copies are stored in one transaction. Repeating it changes
   * nothing.
   *
   * @throws Problem `not_found`, `not_asked`, `members_changed`, `bad_request` with everything that is wrong,
   *   `payment_required`
   */
  async run(agent: Agent, name: string, body: CsrBody): Promise<CsrResponse> {
    const csr = readable(body.csr);
    const { products, isBlocked } = await this.context.of(agent.accountId, csr);
    try {
      return await this.transactions.run(async (tx) => {
        const order = await this.orders.lock(tx, agent.accountId, name);
        if (order?.cluster !== agent.cluster) throw noSuchManagedOrder();
        const earlier = await this.earlier(tx, agent, order, csr, body.task);
        if (earlier !== null) return earlier;
        const request = await this.assigned(tx, agent, order, body.task);
        const { version, others } = await this.agentOrders.othersOf(tx, agent);
        assertSealedFor(body.keys, agent, others);
        const product = products.get(order.product);
        if (product === undefined) throw new Error(`the order has the unknown product ${order.product}`);
        await this.assertFits(tx, order, csr, csr.faultsFor(order, product, isBlocked));
        await endKeyRequest(tx, order.planId);
        const { reason } = request;
        const stored = await this.changes.receiveKey(tx, order, { csr, reason, product });
        const { planId, revision } = stored;
        const key = { planId, taskId: body.task, csrSha256: sha256(csr.der), revision };
        const spkiSha256 = Buffer.from(csr.spkiSha256);
        if (!(await this.agentOrders.insertKey(tx, agent, spkiSha256, key))) throw keyIsUsed();
        if (body.keys.length > 0) await this.agentOrders.insertSealed(tx, agent, spkiSha256, body.keys);
        if ((await this.agentOrders.lockMembers(tx, agent)) !== version) throw membersChanged();
        return { revision };
      });
    } catch (error) {
      if (error instanceof Problem && error.code === 'payment_required')
        await this.postpone(agent, body.task);
      throw error;
    }
  }

  /** The response to the same request before; null: it is new. */
  private async earlier(
    tx: Tx,
    agent: Agent,
    { planId }: StoredOrder,
    csr: OrderCsr,
    task: string,
  ): Promise<CsrResponse | null> {
    const key = await this.agentOrders.managedKey(tx, agent, Buffer.from(csr.spkiSha256));
    const isSame =
      key !== null &&
      key.planId === planId &&
      key.madeBy === agent.id &&
      key.taskId === task &&
      key.csrSha256.equals(sha256(csr.der));
    return isSame ? { revision: key.revision } : null;
  }

  private async assigned(tx: Tx, { id }: Agent, order: StoredOrder, task: string): Promise<KeyRequest> {
    const request = await this.agentOrders.keyRequest(tx, order.planId);
    if (order.paused || request?.id !== task || request.agentId !== id) throw notAsked();
    return request;
  }

  private async assertFits(
    tx: Tx,
    { accountId }: StoredOrder,
    { spkiSha256 }: OrderCsr,
    faults: readonly FieldFault[],
  ): Promise<void> {
    if (faults.length > 0) throw Problem.ofFields(faults);
    if (!(await this.agentOrders.isUsed(tx, accountId, Buffer.from(spkiSha256)))) return;
    throw keyIsUsed();
  }

  /** The agent made the key in vain: the task comes again, with a new key, when the account may have paid. */
  private async postpone({ id }: Agent, task: string): Promise<void> {
    await this.transactions.run(async (tx) => {
      await tx.query(
        `UPDATE key_request SET due_at = clock_timestamp() + ${unpaidRetry}, unpaid_at = clock_timestamp(),
           agent_id = NULL, assigned_until = NULL WHERE id = $1 AND agent_id = $2`,
        [task, id],
      );
    });
  }
}

/** @throws Problem `bad_request` */
function readable(der: Uint8Array): Readable {
  const reading = readCsr(der);
  if (!reading.ok) throw Problem.ofFields(asFields(csrFaults(reading.faults)));
  const { csr } = reading;
  return {
    der,
    spkiSha256: Buffer.from(csr.spkiSha256, 'hex'),
    faultsFor: ({ keyType, dnsNames }, product, keyBlocked) => {
      // Every product: agents have one form of CSR for all.
      const rule = { mustNameEveryDnsName: true, keys: product };
      return asFields(csrFaults(checkCsr(csr, { keyType, dnsNames, rule }, { keyBlocked })));
    },
  };
}

const keyIsUsed = () =>
  Problem.ofFields([
    {
      field: 'csr',
      code: 'invalid_value',
      message: 'The key is used already; make a new one for each task.',
    },
  ]);

const asFields = (faults: readonly Omit<FieldFault, 'field'>[]): FieldFault[] =>
  faults.map((fault) => ({ field: 'csr', ...fault }));

/** One for each other member, sealed by the agent itself. */
function assertSealedFor(keys: readonly SealedKey[], { id }: Agent, others: ReadonlySet<string>): void {
  const at = keys.findIndex(({ sender }) => sender !== id);
  if (at >= 0)
    throw Problem.ofFields([
      { field: `keys[${at}].sender`, code: 'invalid_value', message: 'It must be the agent that sends it.' },
    ]);
  const receivers = new Set(keys.map(({ receiver }) => receiver));
  const isForAll = receivers.size === keys.length && receivers.size === others.size;
  if (!isForAll || [...receivers].some((receiver) => !others.has(receiver))) throw membersChanged();
}
