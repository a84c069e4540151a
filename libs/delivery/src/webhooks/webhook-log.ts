import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Tx } from '@certwright/core-schema';
import type { DeliveryState } from '@certwright/core-schema';

/** One attempt, as its account reads it in the log. */
export interface WebhookAttempt {
  readonly startedAt: Date;
  readonly durationMs: number;
  /** Null when there was no answer. */
  readonly status: number | null;
  /** Null for a success. */
  readonly problem: string | null;
}

export interface LoggedDelivery {
  readonly id: string;
  readonly endpointId: string;
  /** Null: a test event, or an account event. */
  readonly planId: string | null;
  readonly event: string;
  readonly state: DeliveryState;
  /** The delivery whose body this one repeats; null for an original. */
  readonly replayOf: string | null;
  /** When it is tried next; null once it has ended. */
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  /** Oldest first. */
  readonly attempts: readonly WebhookAttempt[];
}

/** What was sent, as its account reads it: 30 days. */
@Injectable()
export class WebhookLog {
  constructor(private readonly database: DataSource) {}

  /**
   * Deliveries of an endpoint, newest first.
   *
   * @param after id of the last delivery of the page before; null for the first page
   */
  async page(
    accountId: string,
    endpointId: string,
    { after, limit }: { readonly after: string | null; readonly limit: number },
  ): Promise<LoggedDelivery[]> {
    const rows: DeliveryRow[] = await this.database.query(
      `SELECT ${columns} FROM webhook_delivery AS delivery
       WHERE endpoint_id = $1 AND account_id = $2
         AND ($3::text IS NULL OR (created_at, id) < (
           SELECT created_at, id FROM webhook_delivery WHERE id = $3 AND endpoint_id = $1))
       ORDER BY created_at DESC, id DESC LIMIT $4`,
      [endpointId, accountId, after, limit],
    );
    return rows.map(loggedDelivery);
  }

  /** @returns the delivery with its body; null when the account has none such at that endpoint */
  async get(
    accountId: string,
    endpointId: string,
    deliveryId: string,
    reader: Pick<Tx, 'query'> = this.database,
  ): Promise<(LoggedDelivery & { readonly body: string }) | null> {
    const [row]: (DeliveryRow & { body: string })[] = await reader.query(
      `SELECT ${columns}, body FROM webhook_delivery AS delivery
       WHERE id = $1 AND endpoint_id = $2 AND account_id = $3`,
      [deliveryId, endpointId, accountId],
    );
    return row === undefined ? null : { ...loggedDelivery(row), body: row.body };
  }
}

interface DeliveryRow extends Omit<LoggedDelivery, 'attempts' | 'replayOf' | 'nextAttemptAt'> {
  readonly replayOf: string;
  readonly dueAt: Date;
  readonly attempts: readonly (Omit<WebhookAttempt, 'startedAt'> & { readonly startedAt: string })[] | null;
}

const columns = `id, endpoint_id AS "endpointId", plan_id AS "planId", event, state, replay_of AS "replayOf",
  due_at AS "dueAt", created_at AS "createdAt", finished_at AS "finishedAt",
  (SELECT jsonb_agg(jsonb_build_object(
     'startedAt', started_at, 'durationMs', duration_ms, 'status', status, 'problem', problem) ORDER BY attempt.id)
   FROM webhook_attempt AS attempt WHERE attempt.delivery_id = delivery.id) AS attempts`;

function loggedDelivery({ attempts, dueAt, replayOf, ...row }: DeliveryRow): LoggedDelivery {
  return {
    id: row.id,
    endpointId: row.endpointId,
    planId: row.planId,
    event: row.event,
    state: row.state,
    replayOf: replayOf === '' ? null : (replayOf.split('/')[0] ?? null),
    nextAttemptAt: row.state === 'pending' ? dueAt : null,
    createdAt: row.createdAt,
    finishedAt: row.finishedAt,
    attempts: (attempts ?? []).map(({ startedAt, ...attempt }) => ({
      ...attempt,
      startedAt: new Date(startedAt),
    })),
  };
}
