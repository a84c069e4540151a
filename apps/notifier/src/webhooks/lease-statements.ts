import { leases } from '@certwright/postgres';
import { isTracing } from '@certwright/tracing';
import type { LeasedDelivery } from './delivery-lease';

/** In flight: held by a process that may still be sending, even if it was superseded or canceled meanwhile. */
const held = 'leased_until > clock_timestamp()';

/** Class of the (transaction-level) advisory locks that serialize the leases of one account. */
const accountLock = 4_361;

/** $1 endpoints. Locks their accounts unless another process is leasing for them; until the end of the transaction. */
export const lockStatement = `
  WITH accounts AS MATERIALIZED (SELECT DISTINCT account_id FROM webhook_endpoint WHERE id = ANY ($1::bigint[])),
  locked AS MATERIALIZED (
    SELECT account_id FROM accounts WHERE pg_try_advisory_xact_lock(${accountLock}, hashint8(account_id)))
  SELECT endpoint.id, locked.account_id IS NOT NULL AS "isLocked"
  FROM webhook_endpoint AS endpoint LEFT JOIN locked ON locked.account_id = endpoint.account_id
  WHERE endpoint.id = ANY ($1::bigint[])`;

/**
 * $1 endpoints, $2 max deliveries of each, $3 ms, $4 slots of an endpoint, $5 of a failing one, $6 of an account.
 * Oldest first. Rows that another transaction locks are skipped: no lease waits for a lock. `now()` and not the
 * clock, since only the former can bound the scan of the index. Deliveries that may no longer be sent are canceled
 * and returned as such. In a schema without the columns, older secrets are those of `before_migration`.
 */
export const leaseStatement = () => `
  WITH request AS (SELECT * FROM unnest($1::bigint[], $2::int[]) AS request (endpoint_id, max)),
  room AS MATERIALIZED (
    SELECT endpoint.id AS endpoint_id, endpoint.account_id, endpoint.enabled,
      least(request.max, CASE WHEN endpoint.failing_since IS NULL THEN $4::int ELSE $5::int END
        - (SELECT count(*) FROM webhook_delivery WHERE endpoint_id = endpoint.id AND ${held})) AS free,
      $6::int - (SELECT count(*) FROM webhook_delivery
                 WHERE endpoint_id IN (SELECT id FROM webhook_endpoint AS own WHERE own.account_id = endpoint.account_id)
                   AND ${held}) AS account_free
    FROM request JOIN webhook_endpoint AS endpoint ON endpoint.id = request.endpoint_id),
  candidate AS MATERIALIZED (
    SELECT due.id, due.sendable, room.account_free,
      row_number() OVER (PARTITION BY room.account_id, due.sendable ORDER BY due.due_at) AS account_turn
    FROM room CROSS JOIN LATERAL (
      SELECT delivery.id, delivery.due_at,
        room.enabled AND NOT EXISTS (
          SELECT 1 FROM plan WHERE plan.id = delivery.plan_id AND plan.closed_at IS NOT NULL) AS sendable
      FROM webhook_delivery AS delivery
      WHERE delivery.endpoint_id = room.endpoint_id AND delivery.state = 'pending' AND delivery.due_at <= now()
        AND ${leases.isFree()}
        AND NOT EXISTS (
          SELECT 1 FROM webhook_delivery AS older
          WHERE older.endpoint_id = delivery.endpoint_id AND older.plan_id = delivery.plan_id
            AND older.version < delivery.version AND older.replay_of = '' AND older.${held})
      ORDER BY delivery.due_at LIMIT greatest(0, room.free) FOR UPDATE OF delivery SKIP LOCKED) AS due),
  canceled AS (
    UPDATE webhook_delivery AS delivery SET state = 'canceled', finished_at = clock_timestamp()
    FROM candidate WHERE delivery.id = candidate.id AND NOT candidate.sendable
    RETURNING delivery.endpoint_id),
  leased AS (
    UPDATE webhook_delivery AS delivery SET
      ${leases.take('$3')}
    FROM candidate
    WHERE delivery.id = candidate.id AND candidate.sendable AND candidate.account_turn <= candidate.account_free
    RETURNING delivery.*)
  SELECT NULL AS canceled_of, leased.id, leased.endpoint_id, leased.account_id, leased.plan_id, leased.event, leased.body,
    leased.attempts, leased.created_at, leased.lease_token, clock_timestamp() AS now,
    endpoint.url, endpoint.credentials_sealed, endpoint.secret_sealed, endpoint.failing_since, endpoint.failed_at,
    CASE WHEN endpoint.previous_secret_until > clock_timestamp() THEN endpoint.previous_secret_sealed END
      AS previous_secret_sealed,
    ARRAY(
      SELECT older.sealed
      FROM webhook_endpoint AS own CROSS JOIN LATERAL unnest(older_secrets_sealed, older_secrets_until) AS older (sealed, until)
      WHERE own.id = leased.endpoint_id AND older.until > clock_timestamp()
      ORDER BY older.until DESC) AS older_secrets_sealed ${isTracing() ? ', leased.traceparent' : ''}
  FROM (SELECT '{}'::bytea[] AS older_secrets_sealed, '{}'::timestamptz[] AS older_secrets_until) AS before_migration
  CROSS JOIN leased JOIN webhook_endpoint AS endpoint ON endpoint.id = leased.endpoint_id
  UNION ALL
  SELECT endpoint_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    ${isTracing() ? ', NULL' : ''}
  FROM canceled`;

/**
 * $1 deliveries, $2 tokens, $3 to $5 their attempts. Successes at endpoints that were not failing: the endpoint does
 * not change, so its row need not be locked. Returns what it recorded; the rest is recorded one by one.
 */
export const recordDeliveredStatement = `
  WITH tried AS (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::int[], $5::int[])
      AS tried (id, token, started_at, duration_ms, status)),
  locked AS MATERIALIZED (
    SELECT delivery.id FROM tried JOIN webhook_delivery AS delivery ON delivery.id = tried.id
    WHERE ${leases.isHeld('tried.token', 'delivery')}
      AND EXISTS (SELECT 1 FROM webhook_endpoint AS endpoint
                  WHERE endpoint.id = delivery.endpoint_id AND endpoint.failing_since IS NULL AND endpoint.failed_at IS NULL)
    FOR UPDATE OF delivery SKIP LOCKED),
  recorded AS (
    UPDATE webhook_delivery AS delivery SET
      attempts = attempts + 1,
      ${leases.release},
      state = CASE WHEN state = 'pending' THEN 'delivered' ELSE state END,
      finished_at = CASE WHEN state = 'pending' THEN clock_timestamp() ELSE finished_at END
    FROM locked WHERE delivery.id = locked.id
    RETURNING delivery.id)
  INSERT INTO webhook_attempt (delivery_id, started_at, duration_ms, status)
  SELECT tried.id, tried.started_at, tried.duration_ms, tried.status FROM tried JOIN recorded ON recorded.id = tried.id
  RETURNING delivery_id`;

/**
 * $1 delivery, $2 token, $3 state, $4 due; $5 to $8 the attempt. An ended delivery keeps its state, but the attempt
 * is logged.
 */
export const recordStatement = `
  WITH tried AS (
    UPDATE webhook_delivery SET
      attempts = attempts + 1,
      ${leases.release},
      state = CASE WHEN state = 'pending' THEN $3 ELSE state END,
      finished_at = CASE WHEN state = 'pending' AND $3 <> 'pending' THEN clock_timestamp() ELSE finished_at END,
      due_at = coalesce($4::timestamptz, due_at)
    WHERE id = $1 AND ${leases.isHeld('$2')}
    RETURNING id)
  INSERT INTO webhook_attempt (delivery_id, started_at, duration_ms, status, problem)
  SELECT id, $5, $6, $7, $8 FROM tried RETURNING id`;

const waitingColumns = `endpoint.id AS "endpointId", endpoint.account_id AS "accountId",
  endpoint.failing_since IS NOT NULL AS "isFailing", due.overdue_s AS "overdueS"`;

const oldestDue = `
  SELECT extract(epoch FROM now() - delivery.due_at)::float AS overdue_s FROM webhook_delivery AS delivery
  WHERE delivery.endpoint_id = endpoint.id AND delivery.state = 'pending' AND delivery.due_at <= now() AND ${leases.isFree()}
  ORDER BY delivery.due_at LIMIT 1`;

/**
 * Skips from endpoint to endpoint in the index of pending deliveries, so the cost grows with the number of waiting
 * endpoints, not with the number of their deliveries.
 */
export const waitingStatement = `
  WITH RECURSIVE waiting (endpoint_id) AS (
    (SELECT endpoint_id FROM webhook_delivery WHERE state = 'pending' ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT next.endpoint_id FROM webhook_delivery AS next
            WHERE next.state = 'pending' AND next.endpoint_id > waiting.endpoint_id ORDER BY next.endpoint_id LIMIT 1)
    FROM waiting WHERE waiting.endpoint_id IS NOT NULL)
  SELECT ${waitingColumns}
  FROM waiting JOIN webhook_endpoint AS endpoint ON endpoint.id = waiting.endpoint_id
  CROSS JOIN LATERAL (${oldestDue}) AS due
  ORDER BY due.overdue_s DESC`;

/** $1 deliveries */
export const waitingAtStatement = `
  SELECT ${waitingColumns}
  FROM webhook_endpoint AS endpoint CROSS JOIN LATERAL (${oldestDue}) AS due
  WHERE endpoint.id IN (SELECT endpoint_id FROM webhook_delivery WHERE id = ANY ($1::text[]) AND state = 'pending')`;

export interface CanceledRow {
  readonly canceled_of: string;
}

export interface LeaseRow {
  readonly canceled_of: null;
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
  readonly older_secrets_sealed: readonly Buffer[];
  /** Absent while this process records no spans. */
  readonly traceparent?: string | null;
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
      olderSecretsSealed: row.older_secrets_sealed,
      failingSince: row.failing_since,
      failedAt: row.failed_at,
    },
    now: row.now,
    traceparent: row.traceparent ?? null,
  };
}
