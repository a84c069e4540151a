export { credentialsContext, secretContext, signingSecret, signingSecretOctets } from './endpoint-seals';
export { type EndpointUrl, type EndpointUrlReading, longestUrl, readEndpointUrl } from './endpoint-url';
