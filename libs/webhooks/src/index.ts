export { credentialsContext, secretContext, signingSecret, signingSecretBytes } from './endpoint-seals';
export { type EndpointUrl, type EndpointUrlReading, maxUrlLength, readEndpointUrl } from './endpoint-url';
export {
  defaultEvents,
  type EventSelector,
  eventSelectors,
  type MonitoringEvent,
  monitoringEvents,
  notServedEvent,
  readEvents,
  selectorsOf,
  type SubjectEvent,
  testEvent,
  type WebhookEvent,
  webhookEvents,
} from './webhook-events';
