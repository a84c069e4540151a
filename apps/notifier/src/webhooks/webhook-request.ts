import { createHmac } from 'node:crypto';

/** Content of one attempt, with all secrets decrypted. */
export interface WebhookMessage {
  readonly id: string;
  readonly event: string;
  readonly body: string;
  readonly timestampS: number;
  /** The present secret first. */
  readonly secrets: readonly string[];
  /** "user:password"; null without. */
  readonly credentials: string | null;
}

const userAgent = 'Certwright-Webhooks/1';

/** Standard Webhooks, and headers for receivers without its library: `Idempotency-Key` and `Webhook-Event`. */
export function webhookHeaders(message: WebhookMessage): Readonly<Record<string, string>> {
  const { id, event, timestampS, credentials } = message;
  return {
    'content-type': 'application/json',
    'user-agent': userAgent,
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signatures(message),
    'webhook-event': event,
    'idempotency-key': id,
    // RFC 7617 §2.1: UTF-8.
    ...(credentials === null
      ? {}
      : { authorization: `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}` }),
  };
}

/** Standard Webhooks: a secret is base64, by convention behind this prefix. */
const secretPrefix = 'whsec_';

/**
 * The `webhook-signature` of a message: `v1,` and HMAC-SHA-256 over `id.timestamp.body` in base64, one for each secret,
 * separated by a space. A receiver with any of the secrets can verify it.
 */
function signatures({ id, timestampS, body, secrets }: WebhookMessage): string {
  const signed = `${id}.${timestampS}.${body}`;
  return secrets
    .map((secret) => `v1,${createHmac('sha256', keyOf(secret)).update(signed, 'utf8').digest('base64')}`)
    .join(' ');
}

const keyOf = (secret: string): Buffer =>
  Buffer.from(secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret, 'base64');
