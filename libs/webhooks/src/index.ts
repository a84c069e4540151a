export { credentialsContext, secretContext, signingSecret, signingSecretBytes } from './endpoint-seals';
export { type EndpointUrl, readEndpointUrl } from './endpoint-url';
export {
  defaultEvents,
  type EventSelector,
  eventSelectors,
  type MonitoringEvent,
  notServedEvent,
  readEvents,
  selectorsOf,
  type SubjectEvent,
  testEvent,
  type WebhookEvent,
  webhookEvents,
} from './webhook-events';
