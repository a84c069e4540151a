export { credentialsContext, secretContext, signingSecret, signingSecretBytes } from './endpoint-seals';
export { type EndpointUrl, type EndpointUrlReading, longestUrl, readEndpointUrl } from './endpoint-url';
