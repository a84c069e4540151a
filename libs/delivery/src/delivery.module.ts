import { Module } from '@nestjs/common';
import { Announcements } from './announcements/announcements';
import { AccountEvents } from './webhooks/account-events';
import { Mails } from './mail/mails';
import { WebhookDeliveries } from './webhooks/webhook-deliveries';
import { WebhookEndpoints } from './webhooks/webhook-endpoints';
import { WebhookFanOut } from './webhooks/webhook-fan-out';
import { WebhookLog } from './webhooks/webhook-log';

const providers = [
  AccountEvents,
  Announcements,
  Mails,
  WebhookDeliveries,
  WebhookEndpoints,
  WebhookFanOut,
  WebhookLog,
];

/** What is to be sent to customers, as rows that the notifier sends: mail and webhook deliveries. */
@Module({ providers, exports: providers })
export class DeliveryModule {}
