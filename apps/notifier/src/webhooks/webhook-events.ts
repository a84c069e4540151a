import type { LeasedDelivery, TriedDelivery } from './delivery-lease';
import type { WebhookAttempt } from '@certwright/delivery';

/** What happens to deliveries, for whoever watches. */
export interface WebhookEvents {
  readonly tried: (leased: LeasedDelivery, attempt: WebhookAttempt, followed: TriedDelivery) => void;
  /** Another process goes on; the endpoint may have got the message twice. */
  readonly leaseLost: (leased: LeasedDelivery) => void;
  /** A fault of ours: nothing was sent, or nothing is known; it is tried again. */
  readonly stumbled: (leased: LeasedDelivery, error: unknown) => void;
}
