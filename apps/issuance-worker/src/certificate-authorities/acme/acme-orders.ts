import type { NameApproval, Outcome } from '@certwright/issuance';
import { neutralMessage, storedOutcome, toStoredApproval } from '@certwright/outcome-messages';
import { LeaseLost, leases } from '@certwright/postgres';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Lease, type Tx, underLease } from '@certwright/core-schema';
import { isUniqueViolation } from '@certwright/core-schema';
import type { AcmeChallenge, AcmeOrderEntity } from '@certwright/core-schema';

/** Why the order failed; null: it did not fail, or the reason is unknown. */
export function problemOf({
  problem,
  outcome,
}: Pick<AcmeOrderEntity, 'problem' | 'outcome'>): Outcome | null {
  return storedOutcome(problem, outcome);
}

type AcmeOrderState = AcmeOrderEntity['state'];

export interface NewAcmeOrder {
  readonly authority: string;
  readonly caAccountId: string;
  readonly profile: string | null;
  /** ARI identifier of the replaced certificate; null: none. */
  readonly replaces: string | null;
}

/** Changes of the issuance that are stored together with its order. */
export interface OrderBeginning {
  readonly approvals: readonly NameApproval[];
  /** Of the lease from now on, ms. */
  readonly keepForMs: number;
}

/** A certificate to be replaced, as identified at its CA. */
export interface ReplacedCertificate {
  readonly authority: string;
  readonly caAccountId: string;
  /** RFC 9773, section 4.1. */
  readonly ariId: string;
}

export interface BeforeOrder {
  /** The issuance's order that has not failed; null: none. */
  readonly standingId: string | null;
  /** The certificate that the issuance replaces (RFC 9773, section 5); null: none. */
  readonly replaced: ReplacedCertificate | null;
}

const referencePrefix = 'acme:';

/** The CA reference of an issuance and its certificate: the id of the order's row. */
export const acmeReference = (orderId: string): string => `${referencePrefix}${orderId}`;

export const isAcmeReference = (reference: string): boolean => reference.startsWith(referencePrefix);

function orderIdOf(reference: string): string | null {
  const id = reference.slice(referencePrefix.length);
  return reference.startsWith(referencePrefix) && /^[1-9][0-9]{0,17}$/.test(id) ? id : null;
}

/** The CA's order belongs to another issuance, and only that one continues it. */
export class OrderTaken extends Error {
  constructor(orderUrl: string) {
    super(`the order ${orderUrl} belongs to another issuance`);
    this.name = 'OrderTaken';
  }
}

/** A CA shows an order as processing or valid within seconds after finalize; a lagging replica may take minutes. */
const lostAfter = '1 hour';

const heldIssuance = `SELECT issuance.id FROM issuance WHERE ${underLease('$1', '$2')} FOR NO KEY UPDATE`;

const orderColumns = `
  id, issuance_id AS "issuanceId", authority, ca_account_id AS "caAccountId", profile, state,
  order_url AS "orderUrl", certificate_url AS "certificateUrl", challenges, replaces,
  finalized_at AS "finalizedAt", problem, outcome, created_at AS "createdAt", closed_at AS "closedAt"`;

/** Order, reference and the longer lease in one statement: one commit before newOrder. */
const beginStatement = `
  WITH held AS (${heldIssuance}),
  begun AS (
    INSERT INTO acme_order (issuance_id, authority, ca_account_id, profile, replaces, state)
    SELECT held.id, $3, $4, $5, $6, 'wanted' FROM held
    ON CONFLICT (issuance_id) WHERE state <> 'failed' DO NOTHING
    RETURNING *),
  kept AS (
    UPDATE issuance SET
      ca_reference = '${referencePrefix}' || begun.id, approvals = $7::jsonb, last_error = NULL, ${leases.extend('$8')}
    FROM begun WHERE issuance.id = begun.issuance_id)
  SELECT ${orderColumns} FROM begun`;

/** Orders at CAs. All writes require the lease of the issuance, so that a late worker changes nothing. */
@Injectable()
export class AcmeOrders {
  constructor(private readonly database: DataSource) {}

  /**
   * Returns the issuance's current order, else a new one in state `wanted`. Stored before newOrder is sent.
   *
   * @param tx null: on its own
   * @returns `isKept`: the issuance has its reference, the changes and the longer lease; false for a current order
   * @throws LeaseLost
   */
  async begin(
    lease: Lease,
    order: NewAcmeOrder,
    { approvals, keepForMs }: OrderBeginning,
    tx: Tx | null = null,
  ): Promise<{ readonly order: AcmeOrderEntity; readonly isKept: boolean }> {
    const database = tx ?? this.database;
    const [begun] = await database.query<[AcmeOrderEntity?]>(beginStatement, [
      lease.issuanceId,
      lease.token,
      order.authority,
      order.caAccountId,
      order.profile,
      order.replaces,
      JSON.stringify(approvals.map(toStoredApproval)),
      keepForMs,
    ]);
    if (begun !== undefined) return { order: begun, isKept: true };
    const standing = await this.standing(lease.issuanceId, database);
    if (standing === null || !(await this.holds(lease, database)))
      throw new LeaseLost('issuance', lease.issuanceId, lease.token);
    return { order: standing, isKept: false };
  }

  /** The issuance's order that has not failed; null: none. */
  async standing(
    issuanceId: string,
    database: Pick<Tx, 'query'> = this.database,
  ): Promise<AcmeOrderEntity | null> {
    return await this.one(`issuance_id = $1 AND state <> 'failed'`, issuanceId, database);
  }

  async byId(id: string): Promise<AcmeOrderEntity | null> {
    return await this.one('id = $1', id);
  }

  /**
   * The order that issued a certificate.
   *
   * @param reference the certificate's CA reference; null when it is not of an ACME order
   */
  async ofReference(reference: string): Promise<AcmeOrderEntity | null> {
    const id = orderIdOf(reference);
    return id === null ? null : await this.byId(id);
  }

  /** What exists before an order begins, with one query. */
  async before(issuanceId: string): Promise<BeforeOrder> {
    const [row] = await this.database.query<[BeforeOrder?]>(
      `SELECT
         (SELECT id FROM acme_order WHERE issuance_id = issuance.id AND state <> 'failed') AS "standingId",
         (SELECT jsonb_build_object('authority', acme_order.authority, 'caAccountId', acme_order.ca_account_id::text,
            'ariId', renewal_info.ari_id)
          FROM certificate
          JOIN acme_order ON acme_order.issuance_id = certificate.issuance_id AND acme_order.state = 'issued'
          JOIN renewal_info ON renewal_info.certificate_id = certificate.id
          WHERE certificate.id = issuance.replaces_certificate_id) AS replaced
       FROM issuance WHERE id = $1`,
      [issuanceId],
    );
    return row ?? { standingId: null, replaced: null };
  }

  /**
   * Stores the order URL before any further request about the order.
   *
   * @param isToFinalize the CA shows it as not finalized
   * @throws LeaseLost
   * @throws OrderTaken when another issuance has that order: a CA may return an existing order for the same names
   */
  async opened(lease: Lease, id: string, orderUrl: string, isToFinalize = false): Promise<void> {
    try {
      await this.openedAs(lease, id, orderUrl);
    } catch (error) {
      if (!isUniqueViolation(error, 'acme_order_one_per_url')) throw error;
      if (!(await this.releaseAbandoned(orderUrl, isToFinalize))) throw new OrderTaken(orderUrl);
      await this.openedAs(lease, id, orderUrl);
    }
  }

  private async openedAs(lease: Lease, id: string, orderUrl: string): Promise<void> {
    // Never replace a stored URL: the order at the CA must not be lost.
    await this.write(lease, id, ['wanted', 'open'], `state = 'open', order_url = $5`, [orderUrl], {
      only: 'order_url IS NULL OR order_url = $5',
    });
  }

  /**
   * Releases the order of an issuance that ended before finalize, or whose request to finalize never reached the CA.
   *
   * @returns whether there was one
   */
  private async releaseAbandoned(orderUrl: string, isToFinalize: boolean): Promise<boolean> {
    const [, changed] = await this.database.query<[unknown, number]>(
      `UPDATE acme_order SET state = 'failed', closed_at = clock_timestamp(), problem = 'The issuance ended before it.'
       FROM issuance
       WHERE order_url = $1 AND acme_order.state = 'open'
         AND (finalized_at IS NULL OR ($2::boolean AND finalized_at < clock_timestamp() - interval '${lostAfter}'))
         AND issuance.id = acme_order.issuance_id AND issuance.state <> 'open'`,
      [orderUrl, isToFinalize],
    );
    return changed > 0;
  }

  /** The CA refuses `replaces`: the order is requested without it. @param tx null: on its own. @throws LeaseLost */
  async withoutReplaces(lease: Lease, id: string, tx: Tx | null = null): Promise<void> {
    await this.write(lease, id, ['wanted'], `replaces = NULL`, [], { database: tx ?? this.database });
  }

  /** @throws LeaseLost */
  async challenged(lease: Lease, id: string, challenges: readonly AcmeChallenge[]): Promise<void> {
    await this.write(lease, id, ['open'], `challenges = $5::jsonb`, [JSON.stringify(challenges)]);
  }

  /** Called before finalize. @param challenges null: unchanged. @throws LeaseLost */
  async finalizing(lease: Lease, id: string, challenges: readonly AcmeChallenge[] | null): Promise<void> {
    const change = `finalized_at = coalesce(finalized_at, clock_timestamp()), challenges = coalesce($5::jsonb, challenges)`;
    await this.write(lease, id, ['open'], change, [challenges === null ? null : JSON.stringify(challenges)]);
  }

  /** Repeatable. @param tx null: on its own. @throws LeaseLost */
  async issued(lease: Lease, id: string, certificateUrl: string, tx: Tx | null = null): Promise<void> {
    const change = `state = 'issued', certificate_url = $5, closed_at = coalesce(closed_at, clock_timestamp())`;
    await this.write(lease, id, ['open', 'issued'], change, [certificateUrl], {
      database: tx ?? this.database,
    });
  }

  /** Another order may begin. Idempotent; the first problem is kept. @throws LeaseLost */
  async failed(lease: Lease, id: string, problem: Outcome): Promise<void> {
    const change = `state = 'failed', problem = coalesce(problem, $5),
      outcome = CASE WHEN problem IS NULL THEN $6::jsonb ELSE outcome END, closed_at = coalesce(closed_at, clock_timestamp())`;
    await this.write(lease, id, ['wanted', 'open', 'issued', 'failed'], change, [
      neutralMessage(problem),
      JSON.stringify(problem),
    ]);
  }

  /**
   * The CA does not return the certificate of the order. Another order may begin, once in an issuance.
   *
   * @returns false when an earlier order was lost: nothing is changed
   * @throws LeaseLost
   */
  async lost(lease: Lease, id: string, problem: Outcome, certificateUrl: string): Promise<boolean> {
    const earlier = await this.database.query<unknown[]>(
      `SELECT FROM acme_order WHERE issuance_id = $1 AND state = 'failed' AND certificate_url IS NOT NULL LIMIT 1`,
      [lease.issuanceId],
    );
    if (earlier.length > 0) return false;
    const change = `state = 'failed', certificate_url = $5, problem = $6, outcome = $7::jsonb, closed_at = clock_timestamp()`;
    const values = [certificateUrl, neutralMessage(problem), JSON.stringify(problem)];
    await this.write(lease, id, ['open', 'issued'], change, values);
    return true;
  }

  /** Locks the issuance's row, so that the lease cannot change between check and write. */
  private async write(
    lease: Lease,
    id: string,
    from: readonly AcmeOrderState[],
    change: string,
    values: readonly unknown[] = [],
    {
      only = 'true',
      database = this.database,
    }: { readonly only?: string; readonly database?: Pick<Tx, 'query'> } = {},
  ): Promise<void> {
    const [, changed] = await database.query<[unknown, number]>(
      `WITH held AS (${heldIssuance})
       UPDATE acme_order SET ${change} FROM held
       WHERE acme_order.id = $3 AND acme_order.issuance_id = held.id AND acme_order.state = ANY ($4::text[])
         AND (${only})`,
      [lease.issuanceId, lease.token, id, from, ...values],
    );
    if (changed > 0) return;
    if (!(await this.holds(lease, database))) throw new LeaseLost('issuance', lease.issuanceId, lease.token);
    throw new Error(`ACME order ${id} of issuance ${lease.issuanceId} rejects the change: ${change}`);
  }

  private async holds(lease: Lease, database: Pick<Tx, 'query'> = this.database): Promise<boolean> {
    const rows = await database.query<unknown[]>(`SELECT 1 FROM issuance WHERE ${underLease('$1', '$2')}`, [
      lease.issuanceId,
      lease.token,
    ]);
    return rows.length > 0;
  }

  private async one(
    where: string,
    value: string,
    database: Pick<Tx, 'query'> = this.database,
  ): Promise<AcmeOrderEntity | null> {
    const [row] = await database.query<[AcmeOrderEntity?]>(
      `SELECT ${orderColumns} FROM acme_order WHERE ${where}`,
      [value],
    );
    return row ?? null;
  }
}
