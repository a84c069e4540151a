import { createHmac } from 'node:crypto';

/** Standard Webhooks: a secret is base64, by convention behind this prefix. */
const secretPrefix = 'whsec_';

/**
 * The `webhook-signature` of a message: `v1,` and HMAC-SHA-256 over `id.timestamp.body` in base64, one for each secret,
 * separated by a space. A receiver that knows any of the secrets finds its own.
 */
export function signatures(
  { id, timestampS, body }: { readonly id: string; readonly timestampS: number; readonly body: string },
  secrets: readonly string[],
): string {
  const signed = `${id}.${timestampS}.${body}`;
  return secrets
    .map((secret) => `v1,${createHmac('sha256', keyOf(secret)).update(signed, 'utf8').digest('base64')}`)
    .join(' ');
}

const keyOf = (secret: string): Buffer =>
  Buffer.from(secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret, 'base64');
