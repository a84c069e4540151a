import type { QueueName } from './queues';

/** Payloads, by job name. Ids only. */
export interface JobPayloads {
  /** Take the next steps of one issuance. */
  'advance-issuance': { readonly issuanceId: string };
  /** The current certificate changed: notify webhooks of the owner. */
  'current-certificate-changed': { readonly planId: string };
  /** The same for a plan whose owner uses another queue. */
  'current-instance-changed': { readonly planId: string };
  /** Try one delivery. */
  'deliver-webhook': { readonly deliveryId: string };
  /** Write and send one mail. */
  'send-mail': { readonly mailId: string };
  /** Have the CA revoke a certificate that is revoked here. */
  'revoke-certificate': { readonly certificateId: string };
  /** Do what is due for one integration: add, check and remove records; list its zones. */
  'keep-integration': { readonly integrationId: string };
}

export type JobName = keyof JobPayloads;

/** Which queue carries which job. */
export const queueOf = {
  'advance-issuance': 'issuance',
  'current-certificate-changed': 'orders-v3-events',
  'current-instance-changed': 'certs-v2-events',
  'deliver-webhook': 'webhooks',
  'send-mail': 'mail',
  'revoke-certificate': 'revocations',
  'keep-integration': 'dns-integrations',
} as const satisfies Record<JobName, QueueName>;

/** The span that a job follows from. */
export interface JobCause {
  /** W3C traceparent. */
  readonly traceparent: string;
  /** `parent`: the job belongs to that trace. `link`: it begins a trace that refers to that one. */
  readonly as: 'parent' | 'link';
}

export interface Job<N extends JobName = JobName> {
  readonly name: N;
  /** `<job>-<row id>-<revision>`; Redis drops a second job with an id that is still queued, as intended. */
  readonly id: string;
  readonly payload: JobPayloads[N];
  /** From 1: lower numbers run first, equal ones in order of arrival. Absent: before all others. */
  readonly priority?: number;
  /** Absent: the job begins a trace. */
  readonly cause?: JobCause;
}

/**
 * @param revision how often the issuance was leased so far, so that the next wake-up is not dropped as a duplicate of
 * the current job
 */
export function advanceIssuance(issuanceId: string, revision: string | number): Job<'advance-issuance'> {
  return {
    name: 'advance-issuance',
    id: `advance-issuance-${issuanceId}-${revision}`,
    payload: { issuanceId },
  };
}

/** @param revision the plan's current_version */
export function currentCertificateChanged(
  planId: string,
  revision: string | number,
): Job<'current-certificate-changed'> {
  return {
    name: 'current-certificate-changed',
    id: `current-certificate-changed-${planId}-${revision}`,
    payload: { planId },
  };
}

/** @param revision the plan's current_version */
export function currentInstanceChanged(
  planId: string,
  revision: string | number,
): Job<'current-instance-changed'> {
  return {
    name: 'current-instance-changed',
    id: `current-instance-changed-${planId}-${revision}`,
    payload: { planId },
  };
}

/** @param revision how often the delivery was leased so far */
export function deliverWebhook(deliveryId: string, revision: string | number): Job<'deliver-webhook'> {
  return {
    name: 'deliver-webhook',
    id: `deliver-webhook-${deliveryId}-${revision}`,
    payload: { deliveryId },
  };
}

/** @param revision how often the mail was leased so far */
export function sendMail(mailId: string, revision: string | number): Job<'send-mail'> {
  return { name: 'send-mail', id: `send-mail-${mailId}-${revision}`, payload: { mailId } };
}

/** @param revision number of the attempt */
export function revokeCertificate(
  certificateId: string,
  revision: string | number,
): Job<'revoke-certificate'> {
  return {
    name: 'revoke-certificate',
    id: `revoke-certificate-${certificateId}-${revision}`,
    payload: { certificateId },
  };
}

/** @param revision how often the integration was leased so far */
export function keepIntegration(integrationId: string, revision: string | number): Job<'keep-integration'> {
  return {
    name: 'keep-integration',
    id: `keep-integration-${integrationId}-${revision}`,
    payload: { integrationId },
  };
}
