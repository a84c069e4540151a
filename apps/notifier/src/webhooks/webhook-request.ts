import { signatures } from './signature';

/** What one try sends, all secrets opened. */
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

/** Standard Webhooks, and what receivers without its library can use: `Idempotency-Key` and `Webhook-Event`. */
export function webhookHeaders(message: WebhookMessage): Readonly<Record<string, string>> {
  const { id, event, timestampS, secrets, credentials } = message;
  return {
    'content-type': 'application/json',
    'user-agent': userAgent,
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signatures(message, secrets),
    'webhook-event': event,
    'idempotency-key': id,
    // RFC 7617 §2.1: UTF-8.
    ...(credentials === null
      ? {}
      : { authorization: `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}` }),
  };
}
