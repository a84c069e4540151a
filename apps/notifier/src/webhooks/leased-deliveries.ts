import { leases } from '@certwright/postgres';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Mails } from '@certwright/delivery';
import { Transactions, type Tx } from '@certwright/core-schema';
import type {
  DeliveredAttempt,
  DeliveryBounds,
  DeliveryLease,
  EndpointHealth,
  LeasedBatch,
  LeaseRequest,
  TriedDelivery,
  WaitingEndpoint,
} from './delivery-lease';
import type { WebhookAttempt } from '@certwright/delivery';
import {
  type CanceledRow,
  leasedDelivery,
  type LeaseRow,
  leaseStatement,
  lockStatement,
  recordDeliveredStatement,
  recordStatement,
  waitingAtStatement,
  waitingStatement,
} from './lease-statements';
import { cancelPending } from '@certwright/delivery';

/** Deliveries leased by the sending process. */
@Injectable()
export class LeasedDeliveries {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
    private readonly mails: Mails,
  ) {}

  /** Endpoints with deliveries that are due and not leased, the longest waiting first. */
  async waiting(): Promise<readonly WaitingEndpoint[]> {
    return await this.database.query(waitingStatement);
  }

  /** The same, of the endpoints of these deliveries only. */
  async waitingAt(deliveryIds: readonly string[]): Promise<readonly WaitingEndpoint[]> {
    return await this.database.query(waitingAtStatement, [deliveryIds]);
  }

  /**
   * Leases due deliveries for one attempt each, the oldest of each endpoint first, within `bounds`. A delivery whose
   * endpoint is disabled, or whose plan is closed, is canceled instead. A delivery is skipped while an older state of
   * its plan is in progress. Never waits for a lock.
   */
  async lease(
    requests: readonly LeaseRequest[],
    leaseMs: number,
    { perEndpoint, perFailingEndpoint, perAccount }: DeliveryBounds,
  ): Promise<LeasedBatch> {
    return await this.transactions.run(async (tx) => {
      const endpointIds = requests.map(({ endpointId }) => endpointId);
      // With the locks no other process leases for these accounts, so the slots counted next are exact.
      const endpoints: { id: string; isLocked: boolean }[] = await tx.query(lockStatement, [endpointIds]);
      const locked = new Set(endpoints.flatMap(({ id, isLocked }) => (isLocked ? [id] : [])));
      const skipped = endpoints.flatMap(({ id, isLocked }) => (isLocked ? [] : [id]));
      if (locked.size === 0) return { leased: [], retry: skipped };
      const possible = requests.filter(({ endpointId }) => locked.has(endpointId));
      const taken: (LeaseRow | CanceledRow)[] = await tx.query(leaseStatement(), [
        possible.map(({ endpointId }) => endpointId),
        possible.map(({ max }) => max),
        leaseMs,
        perEndpoint,
        perFailingEndpoint,
        perAccount,
      ]);
      const canceledOf = taken.flatMap(({ canceled_of }) => (canceled_of === null ? [] : [canceled_of]));
      return {
        leased: taken.flatMap((row) => (row.canceled_of === null ? [leasedDelivery(row)] : [])),
        retry: [...new Set([...skipped, ...canceledOf])],
      };
    });
  }

  /**
   * Records successes at endpoints that were not failing.
   *
   * @returns ids of the deliveries that were recorded; the others are left to `recordAttempt`: their lease is lost, their
   *   endpoint began to fail, or another transaction holds their row
   */
  async recordDelivered(delivered: readonly DeliveredAttempt[]): Promise<ReadonlySet<string>> {
    const rows: { delivery_id: string }[] = await this.database.query(recordDeliveredStatement, [
      delivered.map(({ lease }) => lease.deliveryId),
      delivered.map(({ lease }) => lease.token),
      delivered.map(({ attempt }) => attempt.startedAt),
      delivered.map(({ attempt }) => attempt.durationMs),
      delivered.map(({ attempt }) => attempt.status),
    ]);
    return new Set(rows.map(({ delivery_id }) => delivery_id));
  }

  /**
   * Logs an attempt and stores its outcome. A delivery that was superseded or canceled meanwhile keeps its state.
   * When an endpoint is disabled, its account is notified by mail.
   *
   * @param follow decides from the state and address of the endpoint until now; pure, since the transaction may run again
   * @returns the outcome; null when the lease is lost: then nothing was written
   */
  async recordAttempt(
    { deliveryId, endpointId, token }: DeliveryLease,
    attempt: WebhookAttempt,
    follow: (health: EndpointHealth, url: string) => TriedDelivery,
  ): Promise<TriedDelivery | null> {
    return await this.transactions.run(async (tx) => {
      // Endpoint before delivery, like every transaction: prevents deadlocks.
      const [endpoint]: (EndpointHealth & { readonly url: string })[] = await tx.query(
        `SELECT failing_since AS "failingSince", failed_at AS "failedAt", url FROM webhook_endpoint
         WHERE id = $1 FOR NO KEY UPDATE`,
        [endpointId],
      );
      if (endpoint === undefined) return null;
      const { url, ...health } = endpoint;
      const tried = follow(health, url);
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

  /** Releases the lease without an attempt. */
  async postpone({ deliveryId, token }: DeliveryLease, delayMs: number): Promise<void> {
    await this.database.query(
      `UPDATE webhook_delivery SET ${leases.release}, due_at = clock_timestamp() + $3::int * interval '1 millisecond'
       WHERE id = $1 AND lease_token = $2 AND state = 'pending'`,
      [deliveryId, token, delayMs],
    );
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
