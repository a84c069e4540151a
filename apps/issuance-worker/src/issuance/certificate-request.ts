import type { LeasedWork } from '@certwright/ordering';
import type { CertificateRequest, Refusal } from '../certificate-authorities/certificate-authority';
import type { Trial } from '../certificate-authorities/health/trial';
import type { HeldLease } from './held-lease';

/** An issuance whose names are approved, and the CAs that refused it in this run. */
export interface RequestedWork extends LeasedWork {
  readonly held: HeldLease;
  readonly clock: () => Date;
  /** Temporary CA failures have ended all attempts since this time. */
  readonly stalledSince: Date | null;
  readonly refusals: readonly Refusal[];
  readonly trial: Trial | null;
}

export function certificateRequest(work: RequestedWork): CertificateRequest {
  const { lease, terms, product, issuance, delegationLabels, held, clock, refusals, trial } = work;
  const { dnsNames, keyType, csr } = terms;
  const { lifetimeDays, subjectCommonName } = product;
  const { accountId, approvals, failures, expiresBy } = issuance;
  return {
    ...{ lease, accountId, product, dnsNames, keyType, csr, lifetimeDays, expiresBy, subjectCommonName },
    ...{ approvals, delegationLabels, failures, refusals, clock, trial },
    stalledSince: work.stalledSince,
    now: clock(),
    hold: held.hold,
  };
}
