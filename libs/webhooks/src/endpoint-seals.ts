/** What each secret of an endpoint is sealed for; whoever opens it says the same. */
export const secretContext = (endpointId: string) => `webhook-endpoint:${endpointId}:secret`;
export const credentialsContext = (endpointId: string) => `webhook-endpoint:${endpointId}:credentials`;

/** Standard Webhooks asks for 24 to 64 random octets. */
export const signingSecretOctets = 32;

/** `whsec_` and base64, as Standard Webhooks writes a secret. @param octets from a cryptographic source */
export function signingSecret(octets: Uint8Array): string {
  return `whsec_${Buffer.from(octets).toString('base64')}`;
}
