import type { LoggedDelivery, WebhookEndpoint } from '@certwright/delivery';
import { timestamp } from './timestamp';

/** Sent back by callers that read a webhook, change it and post it whole; what they say is ignored. */
export const readOnlyWebhookMembers = [
  'id',
  'has_credentials',
  'disabled_reason',
  'previous_secret_valid_until',
  'created_at',
] as const;

/** A webhook in the words of the API. Its secret and its credentials are never among them. */
export function webhookJson(endpoint: WebhookEndpoint, now: Date): object {
  const { previousSecretUntil } = endpoint;
  const rotating = previousSecretUntil !== null && previousSecretUntil.getTime() > now.getTime();
  return {
    // Ids fit the integers of JSON's numbers: a constraint of the table.
    id: Number(endpoint.id),
    url: endpoint.url,
    has_credentials: endpoint.credentialsSealed !== null,
    description: endpoint.description,
    enabled: endpoint.enabled,
    disabled_reason: endpoint.disabledReason,
    previous_secret_valid_until: rotating ? timestamp(previousSecretUntil) : null,
    created_at: timestamp(endpoint.createdAt),
  };
}

/** The one moment at which the secret can be seen. */
export function webhookWithSecretJson(endpoint: WebhookEndpoint, secret: string, now: Date): object {
  return { ...webhookJson(endpoint, now), secret };
}

/** @param order name of the order that it tells of; null for a test, and when the order is gone */
export function deliveryJson(delivery: LoggedDelivery, order: string | null): object {
  return {
    id: delivery.id,
    event: delivery.event,
    order,
    state: delivery.state,
    replay_of: delivery.replayOf,
    created_at: timestamp(delivery.createdAt),
    next_attempt_at: delivery.nextAttemptAt === null ? null : timestamp(delivery.nextAttemptAt),
    finished_at: delivery.finishedAt === null ? null : timestamp(delivery.finishedAt),
    attempts: delivery.attempts.map(({ startedAt, durationMs, status, problem }) => ({
      started_at: timestamp(startedAt),
      duration_ms: durationMs,
      status,
      problem,
    })),
  };
}

/** What is sent to try an endpoint out. */
export function testEventJson(endpoint: Pick<WebhookEndpoint, 'id'>, now: Date): object {
  return {
    event: 'test',
    webhook_id: Number(endpoint.id),
    created_at: timestamp(now),
    message: 'A test of this webhook; nothing has changed.',
  };
}
