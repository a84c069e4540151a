export { credentialsContext, secretContext, signingSecret, signingSecretBytes } from './endpoint-seals';
export { type EndpointUrl, type EndpointUrlReading, maxUrlLength, readEndpointUrl } from './endpoint-url';
