import { type NewTerms, Plans } from '@certwright/ordering';
import { inOrderOf, isForeignKeyViolation, keysOf, SharedReads, type Tx } from '@certwright/core-schema';
import { Problem } from '@certwright/errors';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Consequences, Order, StoredOrder } from './order';
import { unknownCluster } from './order-rules';

interface OrderRow extends Omit<StoredOrder, 'csr'> {
  readonly csr: Buffer | null;
  readonly spkiSha256: Buffer | null;
}

const columnsWith = (
  csr: string,
) => ` order_v3.plan_id AS "planId", order_v3.account_id AS "accountId", order_v3.name,
         order_v3.dns_names AS "dnsNames", order_v3.approver_emails AS "approverEmails", order_v3.cluster,
         order_v3.product, order_v3.key_type AS "keyType", ${csr} AS csr, order_v3.spki_sha256 AS "spkiSha256",
         plan.terms_id AS "termsId", plan.revision, plan.auto_renew AS "autoRenew", plan.muted, plan.paused,
         plan.download_token AS "downloadToken"`;

const columns = columnsWith('order_v3.csr');

const ordersWith = (shown: string) => `SELECT ${shown} FROM order_v3 JOIN plan ON plan.id = order_v3.plan_id`;

const orders = ordersWith(columns);

/** An order with a CSR has an empty one. Those of a page can be many megabytes. */
const ordersWithoutCsr = ordersWith(columnsWith(`CASE WHEN order_v3.csr IS NOT NULL THEN ''::bytea END`));

export interface OrdersPage {
  /** Name of the last order of the page before; null: the first page. */
  readonly after: string | null;
  readonly limit: number;
  /** False: the CSRs are not read. */
  readonly withCsr: boolean;
}

/** LATERAL … LIMIT has one plan, whatever the planner knows of the tables. */
const wantedOrders = `
  SELECT wanted.nth::int, found.* FROM ${keysOf('bigint', 'text')} AS wanted (account_id, name, nth)
  CROSS JOIN LATERAL (
    ${orders} WHERE order_v3.account_id = wanted.account_id AND order_v3.name = wanted.name LIMIT 1) AS found`;

interface OrderKey {
  readonly accountId: string;
  readonly name: string;
}

/** Orders: their own table, and the plan that each points to. */
@Injectable()
export class OrdersRepository {
  private readonly reads = new SharedReads<OrderKey, StoredOrder | null>((keys) => this.findAll(keys));

  constructor(
    private readonly database: DataSource,
    private readonly plans: Plans,
  ) {}

  async find(accountId: string, name: string): Promise<StoredOrder | null> {
    return await this.reads.read({ accountId, name });
  }

  private async findAll(keys: readonly OrderKey[]): Promise<(StoredOrder | null)[]> {
    const rows: (OrderRow & { readonly nth: number })[] = await this.database.query(wantedOrders, [
      keys.map(({ accountId }) => accountId),
      keys.map(({ name }) => name),
    ]);
    return inOrderOf<OrderRow>(keys, rows).map((row) => row && storedOrder(row));
  }

  /**
   * Holds plan and order until the transaction ends, locked in this sequence. Both rows: of a row that is not locked, an
   * older version may be seen.
   */
  async lock(tx: Tx, accountId: string, name: string): Promise<StoredOrder | null> {
    const rows: OrderRow[] = await tx.query(
      `SELECT ${columns} FROM plan JOIN order_v3 ON order_v3.plan_id = plan.id
       WHERE order_v3.account_id = $1 AND order_v3.name = $2 FOR UPDATE`,
      [accountId, name],
    );
    return rows[0] === undefined ? null : storedOrder(rows[0]);
  }

  /** The order of a plan that the caller holds; null when it was removed. */
  async ofPlan(tx: Tx, planId: string): Promise<StoredOrder | null> {
    const rows: OrderRow[] = await tx.query(`${orders} WHERE order_v3.plan_id = $1`, [planId]);
    return rows[0] === undefined ? null : storedOrder(rows[0]);
  }

  /** By name, in code point order. */
  async page(accountId: string, { after, limit, withCsr }: OrdersPage): Promise<StoredOrder[]> {
    const rows: OrderRow[] = await this.database.query(
      `${withCsr ? orders : ordersWithoutCsr} WHERE order_v3.account_id = $1 AND ($2::text IS NULL OR order_v3.name > $2)
       ORDER BY order_v3.name LIMIT $3`,
      [accountId, after, limit],
    );
    return rows.map(storedOrder);
  }

  /** Plan id → name, of the plans that still have an order. */
  async namesOf(
    planIds: readonly string[],
    reader: Pick<Tx, 'query'> = this.database,
  ): Promise<ReadonlyMap<string, string>> {
    if (planIds.length === 0) return new Map();
    const rows: { planId: string; name: string }[] = await reader.query(
      `SELECT plan_id AS "planId", name FROM order_v3 WHERE plan_id = ANY($1::bigint[])`,
      [planIds],
    );
    return new Map(rows.map(({ planId, name }) => [planId, name]));
  }

  /** The plan of a new order, with its terms; `insert` must follow in the same transaction. */
  async createPlan(tx: Tx, accountId: string, order: Order, downloadToken: string): Promise<StoredOrder> {
    const { autoRenew, muted, paused } = order;
    const plan = { accountId, autoRenew, muted, paused, downloadToken };
    const terms = termsOf(order);
    const { planId, termsId } =
      terms === null
        ? { planId: await this.plans.create(tx, plan), termsId: null }
        : await this.plans.createWithTerms(tx, plan, terms);
    return { ...order, planId, accountId, termsId, revision: 1, downloadToken };
  }

  /**
   * Completes an order whose plan was created.
   *
   * @throws unique_violation of `order_v3_name` when the account has an order of this name
   */
  async insert(tx: Tx, order: StoredOrder): Promise<void> {
    await withCluster(
      tx,
      `WITH moved AS (UPDATE plan SET terms_id = $11 WHERE id = $1 AND $11::bigint IS NOT NULL)
       INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, cluster, product, key_type, csr, spki_sha256)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [order.planId, order.accountId, order.name, ...modifiableColumns(order), order.termsId],
    );
  }

  /** The caller holds the rows of `before`. */
  async modify(
    tx: Tx,
    before: StoredOrder,
    after: Order,
    terms: Consequences['terms'],
  ): Promise<StoredOrder> {
    const { planId, accountId, downloadToken } = before;
    const revision = await this.plans.modify(tx, planId, after);
    await withCluster(
      tx,
      `UPDATE order_v3 SET dns_names = $2, approver_emails = $3, cluster = $4, product = $5, key_type = $6, csr = $7,
         spki_sha256 = $8 WHERE plan_id = $1`,
      [planId, ...modifiableColumns(after)],
    );
    const termsId = await this.moveTerms(tx, before, after, terms);
    return { ...after, planId, accountId, termsId, revision, downloadToken };
  }

  /** The plan ends for good; the name can be given again. */
  async remove(tx: Tx, { planId }: StoredOrder): Promise<void> {
    await tx.query(`DELETE FROM order_v3 WHERE plan_id = $1`, [planId]);
    await this.plans.close(tx, planId);
  }

  private async moveTerms(
    tx: Tx,
    before: StoredOrder,
    after: Order,
    move: Consequences['terms'],
  ): Promise<string | null> {
    const terms = termsOf(after);
    if (move === 'keep') return before.termsId;
    if (terms !== null) return await this.plans.setTerms(tx, before.planId, terms);
    await this.plans.clearTerms(tx, before.planId, after.dnsNames);
    return null;
  }
}

/** The cluster may have been deleted after the request was checked. @throws Problem `unknown_cluster` */
async function withCluster(tx: Tx, statement: string, values: unknown[]): Promise<void> {
  try {
    await tx.query(statement, values);
  } catch (error) {
    if (!isForeignKeyViolation(error, 'order_v3_cluster')) throw error;
    throw Problem.ofFields([unknownCluster]);
  }
}

function storedOrder({ csr, spkiSha256, ...row }: OrderRow): StoredOrder {
  return { ...row, csr: csr === null || spkiSha256 === null ? null : { der: csr, spkiSha256 } };
}

function modifiableColumns(order: Order): unknown[] {
  return [
    order.dnsNames,
    JSON.stringify(order.approverEmails),
    order.cluster,
    order.product,
    order.keyType,
    order.csr?.der ?? null,
    order.csr?.spkiSha256 ?? null,
  ];
}

function termsOf({ product, dnsNames, keyType, csr, approverEmails }: Order): NewTerms | null {
  if (csr === null) return null;
  return { product, dnsNames, keyType, csr: csr.der, spkiSha256: csr.spkiSha256, approverEmails };
}
