import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Mails } from '../mail/mails';
import { Transactions, type Tx } from '../transactions/transactions';
import type {
  DeliveryBounds,
  DeliveryLease,
  EndpointHealth,
  LeasedDelivery,
  TriedDelivery,
  WebhookAttempt,
} from './delivery-lease';
import {
  cancelStatement,
  dueStatement,
  foundStatement,
  type LeaseRow,
  leasedDelivery,
  leaseStatement,
  recordStatement,
} from './lease-statements';
import { cancelPending } from './webhook-deliveries';

export interface DueDelivery {
  readonly id: string;
  readonly leaseToken: string;
  /** Seconds since its time came. */
  readonly overdueS: number;
}

interface FoundRow {
  readonly endpoint_id: string;
  readonly account_id: string;
  readonly sendable: boolean;
}

/** Deliveries in the hands of the process that sends them. */
@Injectable()
export class LeasedDeliveries {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
    private readonly mails: Mails,
  ) {}

  /**
   * Takes a delivery for one try. One whose endpoint is disabled, or whose plan is closed, is canceled instead.
   *
   * @param alsoFailing whether an endpoint that has been failing may be given a place
   * @returns null when it is not due, not pending any more, in other hands, when an older state of the same plan is still
   *   under way there, or when its endpoint or account has no place left
   */
  async lease(
    deliveryId: string,
    leaseMs: number,
    bounds: DeliveryBounds,
    alsoFailing: boolean,
  ): Promise<LeasedDelivery | null> {
    return await this.transactions.run(async (tx) => {
      // Its lock makes the leases of one account one after another, so that the places counted next are exact.
      const [found]: FoundRow[] = await tx.query(foundStatement, [deliveryId]);
      if (found === undefined) return null;
      if (!found.sendable) {
        await tx.query(cancelStatement, [deliveryId]);
        return null;
      }
      const [[leased]] = await tx.query<[LeaseRow[], number]>(leaseStatement, [
        deliveryId,
        leaseMs,
        found.endpoint_id,
        found.account_id,
        bounds.perEndpoint,
        bounds.perFailingEndpoint,
        bounds.perAccount,
        alsoFailing,
      ]);
      return leased === undefined ? null : leasedDelivery(leased);
    });
  }

  /**
   * Writes a try into the log, and what follows from it. A delivery that was superseded or canceled meanwhile stays so. An
   * endpoint that is switched off has its account told by mail.
   *
   * @param follow decides from how the endpoint fared until now; pure, since the transaction may run again
   * @returns what followed; null when the lease is lost: then nothing was written
   */
  async recordAttempt(
    { deliveryId, endpointId, token }: DeliveryLease,
    attempt: WebhookAttempt,
    follow: (health: EndpointHealth) => TriedDelivery,
  ): Promise<TriedDelivery | null> {
    return await this.transactions.run(async (tx) => {
      // Endpoint before delivery, as everybody does: nobody waits in a circle.
      const [health]: EndpointHealth[] = await tx.query(
        `SELECT failing_since AS "failingSince", failed_at AS "failedAt" FROM webhook_endpoint
         WHERE id = $1 FOR NO KEY UPDATE`,
        [endpointId],
      );
      if (health === undefined) return null;
      const tried = follow(health);
      const dueAt = tried.delivery.state === 'pending' ? tried.delivery.dueAt : null;
      const logged: unknown[] = await tx.query(recordStatement, [
        deliveryId,
        token,
        tried.delivery.state,
        dueAt,
        attempt.startedAt,
        attempt.durationMs,
        attempt.status,
        attempt.problem,
      ]);
      if (logged.length === 0) return null;
      await saveHealth(tx, endpointId, tried.health);
      if (tried.disabledReason !== null) await this.disable(tx, endpointId, tried.disabledReason);
      return tried;
    });
  }

  /** Gives the lease back without a try. */
  async postpone({ deliveryId, token }: DeliveryLease, delayMs: number): Promise<void> {
    await this.database.query(
      `UPDATE webhook_delivery SET leased_until = NULL, due_at = clock_timestamp() + $3::int * interval '1 millisecond'
       WHERE id = $1 AND lease_token = $2 AND state = 'pending'`,
      [deliveryId, token, delayMs],
    );
  }

  /**
   * Deliveries that are due and could be leased now: of each endpoint no more than it has places, and the accounts in
   * turn, so that neither a busy nor a dead one holds up the others.
   */
  async due(limit: number, bounds: DeliveryBounds): Promise<readonly DueDelivery[]> {
    return await this.database.query(dueStatement, [limit, bounds.perEndpoint, bounds.perFailingEndpoint]);
  }

  /** How long the delivery that waits longest has been due, seconds; 0 without one. */
  async oldestDueS(): Promise<number> {
    const [row] = await this.database.query<[{ oldest: number }]>(
      `SELECT greatest(0, coalesce(extract(epoch FROM now() - min(due_at)), 0))::float AS oldest
       FROM webhook_delivery WHERE state = 'pending'`,
    );
    return row.oldest;
  }

  private async disable(tx: Tx, endpointId: string, reason: string): Promise<void> {
    const [[disabled]] = await tx.query<[{ account_id: string }[], number]>(
      `UPDATE webhook_endpoint SET enabled = false, disabled_reason = $2 WHERE id = $1 AND enabled
       RETURNING account_id`,
      [endpointId, reason],
    );
    if (disabled === undefined) return;
    await cancelPending(tx, endpointId);
    const accountId = disabled.account_id;
    const recipient = await this.mails.addressOf(accountId, tx);
    if (recipient === null) return;
    await this.mails.enqueue(tx, { accountId, kind: 'webhook-disabled', recipient, facts: { endpointId } });
  }
}

async function saveHealth(
  tx: Tx,
  endpointId: string,
  { failingSince, failedAt }: EndpointHealth,
): Promise<void> {
  await tx.query(
    `UPDATE webhook_endpoint SET failing_since = $2, failed_at = $3
     WHERE id = $1 AND (failing_since IS DISTINCT FROM $2 OR failed_at IS DISTINCT FROM $3)`,
    [endpointId, failingSince, failedAt],
  );
}
