import { Problem } from '@certwright/errors';
import { mostWebhookEndpoints } from '@certwright/delivery';

/** The same for an id that nobody has and for one that another account has. */
export function noSuchWebhook(): Problem {
  return new Problem('not_found', 'The account has no webhook with this id.');
}

export function noSuchDelivery(): Problem {
  return new Problem('not_found', 'The webhook has no delivery with this id; they are kept for 30 days.');
}

export function tooManyWebhooks(): Problem {
  return new Problem(
    'conflict',
    `An account has ${mostWebhookEndpoints} webhooks at most: delete one that is no longer needed.`,
  );
}

/** Nothing is put on its way that could not be sent. */
export function nothingSent(): Problem {
  return new Problem('conflict', 'Nothing can be sent: the webhook is disabled, or the order was deleted.');
}

/** A positive integer that JSON's numbers hold, written as a number is. */
export function isWebhookId(text: string): boolean {
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
}

export function isDeliveryId(text: string): boolean {
  return /^msg_[A-Za-z0-9_-]{27}$/.test(text);
}
