import { limits } from '@certwright/agent-contract';
import { maxActiveEnrolments } from '@certwright/accounts';
import { maxDnsIntegrations } from '@certwright/dns-integrations';
import { maxPreviousSecrets, maxWebhookEndpoints } from '@certwright/delivery';
import { Problem } from '@certwright/errors';
import { timestamp } from '@certwright/service';

/** The same for an unknown name and for one of another account. */
export function noSuchOrder(): Problem {
  return new Problem('not_found', 'The account has no order of this name.');
}

/** The same for an unknown id and for one of another order. */
export function noSuchCertificate(): Problem {
  return new Problem('not_found', 'The order has no certificate with this id.');
}

/** The same for an unknown name and for one of another account. */
export function noSuchCluster(): Problem {
  return new Problem('not_found', 'The account has no cluster of this name.');
}

/** The same for an unknown id and for one of another cluster. */
export function noSuchEnrolment(): Problem {
  return new Problem('not_found', 'The cluster has no enrolment token with this id.');
}

/** The same for an unknown id and for one of another cluster. */
export function noSuchAgent(): Problem {
  return new Problem('not_found', 'The cluster has no agent with this id.');
}

export function tooManyEnrolments(): Problem {
  return new Problem(
    'conflict',
    `A cluster has ${maxActiveEnrolments} active enrolment tokens at most: revoke those that are not needed, or create one with more uses.`,
  );
}

export function clusterExists(): Problem {
  return new Problem('already_exists', 'The account has a cluster of this name already.', { field: 'name' });
}

export function clusterMismatch(): Problem {
  return new Problem('revision_mismatch', 'The cluster has been modified: read it again.');
}

/** @param order one of those that name it */
export function clusterNotEmpty(order: string): Problem {
  return new Problem(
    'cluster_not_empty',
    `Orders name this cluster, such as ${order}: delete them, or set their cluster to null or to another one.`,
  );
}

/** Agents only believe statements of the cluster key that they enrolled with. */
export function clusterHasAgents(): Problem {
  return new Problem(
    'conflict',
    'The cluster has agents, which believe only the present cluster key. Remove them, change the key, then enrol their hosts again; what the hosts have installed stays in use.',
  );
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

/** A rotation would end a secret that a receiver may still verify with. */
export function tooManySecrets(rotatableAt: Date): Problem {
  return new Problem(
    'conflict',
    `The webhook has ${maxPreviousSecrets} previous secrets that still sign. ` +
      `Rotate again after ${timestamp(rotatableAt)}, when the oldest of them ends.`,
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

/** The same for an unknown order, one of another account, and one of another cluster. */
export function noSuchManagedOrder(): Problem {
  return new Problem('not_found', 'The cluster has no order of this name.');
}

/** The same for an unknown certificate, and one of another cluster. */
export function noSuchManagedCertificate(): Problem {
  return new Problem('not_found', 'No order of the cluster has a certificate with this hash.');
}

/**
 * The same for an unknown, used up, expired or revoked token, for an unknown or removed agent, and for a wrong
 * signature.
 */
export function notAnAgent(): Problem {
  return new Problem(
    'bad_credentials',
    'This needs the signature of an agent that is a member of a cluster, or a valid enrolment token.',
  );
}

export function notAsked(): Problem {
  return new Problem(
    'not_asked',
    'This is not requested of this agent for the order at present, or the task is an old one.',
  );
}

export function membersChanged(): Problem {
  return new Problem(
    'members_changed',
    'The keys are not sealed for exactly the present agents of the cluster: read the members again, then seal the key for each of them.',
  );
}

export function clusterKeyRequired(): Problem {
  return new Problem(
    'cluster_key_required',
    'The cluster has no cluster key, so it can have one agent only. Create a cluster key, set it in the cluster, and enrol all hosts with it.',
  );
}

export function tooManyAgents(): Problem {
  return new Problem('conflict', `A cluster has ${limits.maxAgentsPerCluster} agents at most.`);
}
