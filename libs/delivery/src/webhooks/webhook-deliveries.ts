import { deliverWebhook } from '@certwright/jobs';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { addToOutbox } from '@certwright/core-schema';
import type { Tx } from '@certwright/core-schema';

export interface NewWebhookDelivery {
  /** `msg_` and 160 fresh random bits, base64url. */
  readonly deliveryId: string;
  readonly endpointId: string;
  readonly accountId: string;
  /** Null: a test event, or the replay of an account event (see `AccountEvents`). */
  readonly planId: string | null;
  /** The plan's current_version that the body tells of; 0 for a test event. */
  readonly version: number;
  readonly event: string;
  /** Exactly what is signed and sent. */
  readonly body: string;
  /** Empty or absent: an original. */
  readonly replayOf?: string;
  /** Of an account event; empty or absent otherwise. */
  readonly subject?: string;
}

/** Puts messages on their way. Sending them is the matter of `LeasedDeliveries`, reading the log of `WebhookLog`. */
@Injectable()
export class WebhookDeliveries {
  constructor(private readonly database: DataSource) {}

  /**
   * Idempotent by (endpoint, plan, version, replayOf). An original takes the place of older ones of the same plan
   * that still wait there: what is delivered is the newest state.
   *
   * @returns false when nothing was enqueued: it is stored already, a newer state is, the endpoint is disabled or
   * gone, or the plan is closed
   */
  async enqueue(tx: Tx, delivery: NewWebhookDelivery): Promise<boolean> {
    const {
      deliveryId,
      endpointId,
      accountId,
      planId,
      version,
      event,
      body,
      replayOf = '',
      subject = '',
    } = delivery;
    if (planId !== null && replayOf === '') {
      // The lease stays: a try that is under way holds back the newer state, so that they arrive in order.
      await tx.query(
        `UPDATE webhook_delivery SET state = 'superseded', finished_at = clock_timestamp()
         WHERE endpoint_id = $1 AND plan_id = $2 AND version < $3 AND replay_of = '' AND state = 'pending'`,
        [endpointId, planId, version],
      );
    }
    const inserted: unknown[] = await tx.query(insertStatement(subject !== ''), [
      deliveryId,
      accountId,
      endpointId,
      planId,
      version,
      replayOf,
      event,
      body,
      ...(subject === '' ? [] : [subject]),
    ]);
    if (inserted.length === 0) return false;
    await addToOutbox(tx, deliverWebhook(deliveryId, 0));
    return true;
  }

  /**
   * Sends the body of a delivery once more, as a delivery of its own.
   *
   * @param freshId `msg_` and 160 fresh random bits, base64url
   * @returns false when there is no such delivery, or nothing can be sent there (see `enqueue`)
   */
  async replay(
    tx: Tx,
    accountId: string,
    endpointId: string,
    deliveryId: string,
    freshId: string,
  ): Promise<boolean> {
    const [original]: ReplayedRow[] = await tx.query(
      // In a schema without the column, `subject` is that of `before_migration`.
      `SELECT original.* FROM (SELECT '' AS subject) AS before_migration CROSS JOIN LATERAL (
         SELECT plan_id, version, subject, event, body FROM webhook_delivery
         WHERE id = $1 AND endpoint_id = $2 AND account_id = $3) AS original`,
      [deliveryId, endpointId, accountId],
    );
    if (original === undefined) return false;
    return await this.enqueue(tx, {
      deliveryId: freshId,
      endpointId,
      accountId,
      planId: original.plan_id,
      version: original.version,
      event: original.event,
      body: original.body,
      subject: original.subject,
      replayOf: `${deliveryId}/${freshId}`,
    });
  }

  /** Nothing more is sent about a plan that is closed. */
  async cancelOfPlan(tx: Tx, planId: string): Promise<void> {
    await tx.query(
      `UPDATE webhook_delivery SET state = 'canceled', finished_at = clock_timestamp()
       WHERE plan_id = $1 AND state = 'pending'`,
      [planId],
    );
  }

  /** The log is kept for 30 days after a delivery has ended. @returns how many were forgotten */
  async forgetOld(limit: number): Promise<number> {
    const [, forgotten] = await this.database.query<[unknown, number]>(
      `DELETE FROM webhook_delivery WHERE id IN (
         SELECT id FROM webhook_delivery
         WHERE state <> 'pending' AND finished_at < now() - $2::int * interval '1 day' LIMIT $1)`,
      [limit, logDays],
    );
    return forgotten;
  }
}

const logDays = 30;

interface ReplayedRow {
  readonly plan_id: string | null;
  readonly version: number;
  readonly subject: string;
  readonly event: string;
  readonly body: string;
}

/** What waits for an endpoint that is switched off is not sent when it is switched on again. */
export async function cancelPending(tx: Tx, endpointId: string): Promise<void> {
  await tx.query(
    `UPDATE webhook_delivery SET state = 'canceled', finished_at = clock_timestamp()
     WHERE endpoint_id = $1 AND state = 'pending'`,
    [endpointId],
  );
}

/** The column is written only if necessary, so that other deliveries work without it too. */
const insertStatement = (withSubject: boolean) => `
  INSERT INTO webhook_delivery
    (id, account_id, endpoint_id, plan_id, version, replay_of, event, body, state, due_at${withSubject ? ', subject' : ''})
  SELECT $1, $2, endpoint.id, $4, $5, $6, $7, $8, 'pending', clock_timestamp()${withSubject ? ', $9' : ''}
  FROM webhook_endpoint AS endpoint
  WHERE endpoint.id = $3 AND endpoint.account_id = $2 AND endpoint.enabled
    AND NOT EXISTS (SELECT 1 FROM plan WHERE plan.id = $4 AND closed_at IS NOT NULL)
    AND ($6 <> '' OR NOT EXISTS (
      SELECT 1 FROM webhook_delivery AS newer
      WHERE newer.endpoint_id = $3 AND newer.plan_id = $4 AND newer.version > $5 AND newer.replay_of = ''))
  ON CONFLICT DO NOTHING
  RETURNING id`;
