/** Sealing contexts of the secrets of an endpoint. */
export const secretContext = (endpointId: string) => `webhook-endpoint:${endpointId}:secret`;
export const credentialsContext = (endpointId: string) => `webhook-endpoint:${endpointId}:credentials`;

/** Standard Webhooks requires 24 to 64 random bytes. */
export const signingSecretBytes = 32;

/** `whsec_` and base64, as Standard Webhooks writes a secret. @param bytes from a cryptographic source */
export function signingSecret(bytes: Uint8Array): string {
  return `whsec_${Buffer.from(bytes).toString('base64')}`;
}
