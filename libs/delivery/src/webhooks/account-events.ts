import { addJobsToOutbox, type Tx } from '@certwright/core-schema';
import { deliverWebhook } from '@certwright/jobs';
import { type EventSelector, selectorsOf, type SubjectEvent } from '@certwright/webhooks';
import { Injectable } from '@nestjs/common';
import { freshDeliveryId } from './webhook-fan-out';

/** An event of an account that is not about the newest state of one of its plans. */
export interface AccountEvent {
  readonly accountId: string;
  readonly event: SubjectEvent;
  /** Identifies the event for its account, as `finding:<tbs_sha256>`: an endpoint gets one delivery for each subject. */
  readonly subject: string;
  /** Exactly what is signed and sent. */
  readonly body: string;
}

/** Deliveries of account events that become due within any hour, per account. */
const maxPerHour = 1_000;

const hourMs = 60 * 60 * 1_000;

/** Newest deliveries of an endpoint that are read; more than `maxPerHour`, since some are about plans. */
const maxRead = 2 * maxPerHour;

/** Class of the (transaction-level) advisory locks that serialize new account events of one account. */
const accountLock = 4_362;

/** Enqueues deliveries of account events. Unlike the state of a plan, an event is never superseded. */
@Injectable()
export class AccountEvents {
  /**
   * One delivery for each enabled endpoint that selected the event, in a constant number of statements. Idempotent by
   * endpoint and subject. Beyond `maxPerHour` the deliveries of an account are due later.
   *
   * @returns how many deliveries were enqueued
   */
  async enqueue(tx: Tx, events: readonly AccountEvent[]): Promise<number> {
    const accountIds = [...new Set(events.map(({ accountId }) => accountId))];
    if (accountIds.length === 0) return 0;
    const endpoints = await selectingEndpoints(tx, accountIds);
    const wanted = events.flatMap((event, index) => {
      const selectors = selectorsOf(event.event);
      return (endpoints.get(event.accountId) ?? [])
        .filter((endpoint) => endpoint.events.some((selected) => selectors.includes(selected)))
        .map(({ id: endpointId }) => ({ index, endpointId, deliveryId: freshDeliveryId() }));
    });
    if (wanted.length === 0) return 0;
    const { nowMs, scheduled } = await schedule(tx, accountIds);
    const dueMs = wanted.map(({ index }) => {
      const ofAccount = scheduled.get(events[index]?.accountId ?? '') ?? [];
      return nextDue(ofAccount, nowMs);
    });
    const inserted = await tx.query<{ id: string; isDue: boolean }[]>(insertStatement, [
      wanted.map(({ deliveryId }) => deliveryId),
      wanted.map(({ endpointId }) => endpointId),
      wanted.map(({ index }) => index + 1),
      dueMs,
      events.map(({ accountId }) => accountId),
      events.map(({ event }) => event),
      events.map(({ subject }) => subject),
      events.map(({ body }) => body),
    ]);
    // The sweep starts those that are due later.
    const due = inserted.filter(({ isDue }) => isDue);
    await addJobsToOutbox(
      tx,
      due.map(({ id }) => deliverWebhook(id, 0)),
    );
    return inserted.length;
  }

  /**
   * Cancels what was not delivered yet.
   *
   * @returns how many deliveries
   */
  async cancel(tx: Tx, events: readonly Pick<AccountEvent, 'accountId' | 'subject'>[]): Promise<number> {
    if (events.length === 0) return 0;
    const [, canceled] = await tx.query<[unknown, number]>(cancelStatement, [
      events.map(({ accountId }) => accountId),
      events.map(({ subject }) => subject),
    ]);
    return canceled;
  }
}

interface SelectingEndpoint {
  readonly id: string;
  readonly accountId: string;
  readonly events: readonly EventSelector[];
}

async function selectingEndpoints(
  tx: Tx,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, readonly SelectingEndpoint[]>> {
  const rows = await tx.query<SelectingEndpoint[]>(
    `SELECT id, account_id AS "accountId", events FROM webhook_endpoint
     WHERE account_id = ANY ($1::bigint[]) AND enabled ORDER BY id`,
    [accountIds],
  );
  return Map.groupBy(rows, ({ accountId }) => accountId);
}

interface Schedule {
  /** The database's clock. */
  readonly nowMs: number;
  /** By account: when its deliveries were or are due, ascending; those of the last hour and later ones. */
  readonly scheduled: ReadonlyMap<string, number[]>;
}

/** Holds the accounts until the end of the transaction, so that no other one counts the same deliveries. */
async function schedule(tx: Tx, accountIds: readonly string[]): Promise<Schedule> {
  await tx.query(
    `SELECT pg_advisory_xact_lock(${accountLock}, key)
     FROM (SELECT DISTINCT hashint8(id) AS key FROM unnest($1::bigint[]) AS id ORDER BY key) AS accounts`,
    [accountIds],
  );
  const rows = await tx.query<{ accountId: string; nowMs: number; dueMs: number[] }[]>(scheduleStatement, [
    accountIds,
    maxRead,
  ]);
  return {
    nowMs: rows[0]?.nowMs ?? 0,
    scheduled: new Map(rows.map(({ accountId, dueMs }) => [accountId, dueMs])),
  };
}

/**
 * When the next delivery of an account is due: at most `maxPerHour` within any hour.
 *
 * @param scheduled ascending; the result is appended
 */
function nextDue(scheduled: number[], nowMs: number): number {
  const hourBefore = scheduled.at(-maxPerHour);
  const isFull = scheduled.length >= maxPerHour && hourBefore !== undefined;
  const dueMs = isFull ? Math.max(nowMs, hourBefore + hourMs) : nowMs;
  scheduled.push(dueMs);
  return dueMs;
}

/**
 * $1 accounts, $2 deliveries of an endpoint to read. `due_at` of a failed delivery is that of its next try: it counts
 * when it was created, so that an endpoint that is down does not delay the others.
 */
const scheduleStatement = `
  SELECT account.id AS "accountId", extract(epoch FROM now())::float8 * 1000 AS "nowMs",
    coalesce(array_agg(extract(epoch FROM delivery.scheduled_at)::float8 * 1000 ORDER BY delivery.scheduled_at)
      FILTER (WHERE delivery.scheduled_at > now() - interval '1 hour'), '{}') AS "dueMs"
  FROM unnest($1::bigint[]) AS account (id)
  LEFT JOIN webhook_endpoint AS endpoint ON endpoint.account_id = account.id
  LEFT JOIN LATERAL (
    SELECT scheduled_at FROM (
      SELECT subject, replay_of, state, attempts,
        CASE WHEN attempts = 0 OR (attempts = 1 AND state <> 'pending') THEN due_at ELSE created_at END AS scheduled_at
      FROM webhook_delivery WHERE endpoint_id = endpoint.id ORDER BY created_at DESC LIMIT $2::int) AS newest
    WHERE subject <> '' AND replay_of = '' AND NOT (state = 'canceled' AND attempts = 0)) AS delivery ON true
  GROUP BY account.id`;

/** $1 ids, $2 endpoints, $3 events (from 1), $4 ms; $5 to $8 the events. */
const insertStatement = `
  INSERT INTO webhook_delivery (id, account_id, endpoint_id, version, subject, event, body, state, due_at)
  SELECT delivery.id, event.account_id, delivery.endpoint_id, 0, event.subject, event.name, event.body, 'pending',
    to_timestamp(delivery.due_ms / 1000)
  FROM unnest($1::text[], $2::bigint[], $3::int[], $4::float8[]) AS delivery (id, endpoint_id, event, due_ms)
  JOIN unnest($5::bigint[], $6::text[], $7::text[], $8::text[]) WITH ORDINALITY
    AS event (account_id, name, subject, body, number) ON event.number = delivery.event
  ON CONFLICT DO NOTHING
  RETURNING id, due_at <= clock_timestamp() AS "isDue"`;

const cancelStatement = `
  UPDATE webhook_delivery SET state = 'canceled', finished_at = clock_timestamp()
  WHERE subject <> '' AND state = 'pending'
    AND (account_id, subject) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))`;
