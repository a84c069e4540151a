export { DeliveryModule } from './delivery.module';
export { AnnouncementRound } from './announcements/announcement-round';
export { Announcements, type Unannounced } from './announcements/announcements';
export { lapsedRevocations, mailIssued, mailRevoked, wantsMail } from './mail/certificate-mails';
export { type AccountMail, Mails, type NewMail } from './mail/mails';
export {
  maxBackfilledInMail,
  maxCertificatesInMail,
  maxEndpointsInMail,
  type MonitoringMailFacts,
  type MonitoringMailKind,
} from './mail/monitoring-mail-facts';
export { AccountEvents } from './webhooks/account-events';
export { WebhookDeliveries, cancelPending } from './webhooks/webhook-deliveries';
export {
  type WebhookEndpoint,
  type WebhookEndpointChange,
  WebhookEndpoints,
  maxPreviousSecrets,
  maxWebhookEndpoints,
} from './webhooks/webhook-endpoints';
export { WebhookFanOut, freshDeliveryId } from './webhooks/webhook-fan-out';
export { type LoggedDelivery, type WebhookAttempt, WebhookLog } from './webhooks/webhook-log';
