import { maxDnsIntegrations } from '@certwright/dns-integrations';
import { maxWebhookEndpoints } from '@certwright/delivery';
import { Problem } from '@certwright/errors';

/** The same for an unknown name and for one of another account. */
export function noSuchOrder(): Problem {
  return new Problem('not_found', 'The account has no order of this name.');
}

/** The same for an unknown id and for one of another order. */
export function noSuchCertificate(): Problem {
  return new Problem('not_found', 'The order has no certificate with this id.');
}

/** The same for an unknown id and for one of another account. */
export function noSuchWebhook(): Problem {
  return new Problem('not_found', 'The account has no webhook with this id.');
}

export function noSuchDelivery(): Problem {
  return new Problem('not_found', 'The webhook has no delivery with this id; they are kept for 30 days.');
}

/** The message is not queued, since it could not be sent. */
export function nothingSent(): Problem {
  return new Problem('conflict', 'Nothing can be sent: the webhook is disabled, or the order was deleted.');
}

export function tooManyWebhooks(): Problem {
  return new Problem(
    'conflict',
    `An account has ${maxWebhookEndpoints} webhooks at most: delete one that is no longer needed.`,
  );
}

/** The same for an unknown id and for one of another account. */
export function noSuchIntegration(): Problem {
  return new Problem('not_found', 'The account has no DNS integration with this id.');
}

export function tooManyIntegrations(): Problem {
  return new Problem(
    'conflict',
    `An account has ${maxDnsIntegrations} DNS integrations at most: delete one that is no longer needed.`,
  );
}
