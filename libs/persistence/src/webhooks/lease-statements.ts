import type { LeasedDelivery } from './delivery-lease';

/** In flight: held by a process that may still be sending, even when it was superseded or canceled meanwhile. */
const held = 'leased_until > clock_timestamp()';
const free = '(leased_until IS NULL OR leased_until <= clock_timestamp())';

/** Class of the advisory locks (of the transaction) that make the leases of one account one after another. */
const accountLock = 4_361;

/** $1 delivery. Takes the account's lock; whether it may be sent at all. */
export const foundStatement = `
  SELECT delivery.endpoint_id, delivery.account_id,
    endpoint.enabled AND plan.closed_at IS NULL AS sendable,
    pg_advisory_xact_lock(${accountLock}, hashint8(delivery.account_id))
  FROM webhook_delivery AS delivery
  JOIN webhook_endpoint AS endpoint ON endpoint.id = delivery.endpoint_id
  LEFT JOIN plan ON plan.id = delivery.plan_id
  WHERE delivery.id = $1 AND delivery.state = 'pending'`;

export const cancelStatement = `
  UPDATE webhook_delivery SET state = 'canceled', finished_at = clock_timestamp()
  WHERE id = $1 AND state = 'pending'`;

/** $1 delivery, $2 ms, $3 endpoint, $4 account, $5 places of an endpoint, $6 of a failing one, $7 of an account, $8 failing ones too */
export const leaseStatement = `
  UPDATE webhook_delivery AS delivery SET
    lease_token = lease_token + 1,
    leased_until = clock_timestamp() + $2::int * interval '1 millisecond'
  FROM webhook_endpoint AS endpoint
  WHERE delivery.id = $1 AND endpoint.id = $3 AND delivery.state = 'pending' AND delivery.due_at <= clock_timestamp()
    AND (delivery.leased_until IS NULL OR delivery.leased_until <= clock_timestamp())
    AND (endpoint.failing_since IS NULL OR $8::boolean)
    AND (SELECT count(*) FROM webhook_delivery WHERE endpoint_id = $3 AND ${held})
      < CASE WHEN endpoint.failing_since IS NULL THEN $5::int ELSE $6::int END
    AND (SELECT count(*) FROM webhook_delivery
         WHERE endpoint_id IN (SELECT id FROM webhook_endpoint WHERE account_id = $4)
           AND ${held}) < $7::int
    AND NOT EXISTS (
      SELECT 1 FROM webhook_delivery AS older
      WHERE older.endpoint_id = $3 AND older.plan_id = delivery.plan_id AND older.version < delivery.version
        AND older.replay_of = '' AND older.${held})
  RETURNING delivery.id, delivery.endpoint_id, delivery.account_id, delivery.plan_id, delivery.event, delivery.body,
    delivery.attempts, delivery.created_at, delivery.lease_token, clock_timestamp() AS now,
    endpoint.url, endpoint.credentials_sealed, endpoint.secret_sealed, endpoint.failing_since, endpoint.failed_at,
    CASE WHEN endpoint.previous_secret_until > clock_timestamp() THEN endpoint.previous_secret_sealed END
      AS previous_secret_sealed`;

/** $1 delivery, $2 token, $3 state, $4 due; $5 to $8 the try. What was ended meanwhile stays as it is, but the try is logged. */
export const recordStatement = `
  WITH tried AS (
    UPDATE webhook_delivery SET
      attempts = attempts + 1,
      leased_until = NULL,
      state = CASE WHEN state = 'pending' THEN $3 ELSE state END,
      finished_at = CASE WHEN state = 'pending' AND $3 <> 'pending' THEN clock_timestamp() ELSE finished_at END,
      due_at = coalesce($4::timestamptz, due_at)
    WHERE id = $1 AND lease_token = $2 AND leased_until > clock_timestamp()
    RETURNING id)
  INSERT INTO webhook_attempt (delivery_id, started_at, duration_ms, status, problem)
  SELECT id, $5, $6, $7, $8 FROM tried RETURNING id`;

/**
 * $1 limit, $2 places of an endpoint, $3 of a failing one. Goes from endpoint to endpoint through the index of pending
 * deliveries, so its cost grows with the endpoints that wait, not with what waits there.
 */
export const dueStatement = `
  WITH RECURSIVE waiting (endpoint_id) AS (
    (SELECT endpoint_id FROM webhook_delivery WHERE state = 'pending' ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT next.endpoint_id FROM webhook_delivery AS next
            WHERE next.state = 'pending' AND next.endpoint_id > waiting.endpoint_id ORDER BY next.endpoint_id LIMIT 1)
    FROM waiting WHERE waiting.endpoint_id IS NOT NULL),
  places AS (
    SELECT endpoint.id, endpoint.account_id, endpoint.failing_since IS NOT NULL AS failing,
      CASE WHEN endpoint.failing_since IS NULL THEN $2::int ELSE $3::int END
        - (SELECT count(*) FROM webhook_delivery WHERE endpoint_id = endpoint.id AND ${held}) AS free
    FROM waiting JOIN webhook_endpoint AS endpoint ON endpoint.id = waiting.endpoint_id),
  turns AS (
    SELECT due.*, places.failing,
      row_number() OVER (PARTITION BY places.account_id ORDER BY places.failing, due.turn, due.due_at) AS account_turn
    FROM places CROSS JOIN LATERAL (
      SELECT id, lease_token, due_at, row_number() OVER (ORDER BY due_at) AS turn FROM webhook_delivery
      WHERE endpoint_id = places.id AND state = 'pending' AND due_at <= clock_timestamp() AND ${free}
      ORDER BY due_at LIMIT greatest(0, places.free)) AS due)
  SELECT id, lease_token AS "leaseToken", extract(epoch FROM clock_timestamp() - due_at)::int AS "overdueS"
  FROM turns ORDER BY failing, account_turn, due_at LIMIT $1`;

export interface LeaseRow {
  readonly id: string;
  readonly endpoint_id: string;
  readonly account_id: string;
  readonly plan_id: string | null;
  readonly event: string;
  readonly body: string;
  readonly attempts: number;
  readonly created_at: Date;
  readonly lease_token: string;
  readonly now: Date;
  readonly url: string;
  readonly credentials_sealed: Buffer | null;
  readonly secret_sealed: Buffer;
  readonly failing_since: Date | null;
  readonly failed_at: Date | null;
  readonly previous_secret_sealed: Buffer | null;
}

export function leasedDelivery(row: LeaseRow): LeasedDelivery {
  return {
    lease: { deliveryId: row.id, endpointId: row.endpoint_id, token: row.lease_token },
    delivery: {
      id: row.id,
      accountId: row.account_id,
      planId: row.plan_id,
      event: row.event,
      body: row.body,
      attempts: row.attempts,
      createdAt: row.created_at,
    },
    endpoint: {
      id: row.endpoint_id,
      url: row.url,
      credentialsSealed: row.credentials_sealed,
      secretSealed: row.secret_sealed,
      previousSecretSealed: row.previous_secret_sealed,
      failingSince: row.failing_since,
      failedAt: row.failed_at,
    },
    now: row.now,
  };
}
