import type { LeasedWork } from '@certwright/ordering';
import type { CertificateRequest, Refusal } from '../certificate-authorities/certificate-authority';
import type { Trial } from '../certificate-authorities/health/trial';
import type { HeldLease } from './held-lease';
import type { Pause } from './pausable-runs';

/** An issuance whose names are approved, and the CAs that refused it in this run. */
export interface RequestedWork extends LeasedWork {
  readonly held: HeldLease;
  readonly clock: () => Date;
  /** Temporary CA failures have ended all attempts since this time. */
  readonly stalledSince: Date | null;
  readonly refusals: readonly Refusal[];
  readonly trial: Trial | null;
  /** From `submit`, until `collect`. */
  readonly begun: object | null;
  readonly pause: Pause;
}

/** Longer waits end the run: another one continues when the issuance is due, ms. Public CAs request 3 s. */
const maxPauseMs = 3_500;
/** Time to get a slot after a pause, ms. */
const slotMs = 2_000;

export function certificateRequest(work: RequestedWork): CertificateRequest {
  const { lease, terms, product, issuance, delegationLabels, held, clock, refusals, trial } = work;
  const { dnsNames, keyType, csr } = terms;
  const { lifetimeDays, subjectCommonName } = product;
  const { accountId, approvals, failures, expiresBy } = issuance;
  return {
    ...{ lease, accountId, product, dnsNames, keyType, csr, lifetimeDays, expiresBy, subjectCommonName },
    ...{ approvals, delegationLabels, failures, refusals, clock, trial },
    stalledSince: work.stalledSince,
    hasHistory: work.hasHistory,
    keyBlocked: work.keyBlocked,
    begun: work.begun,
    now: clock(),
    hold: held.hold,
    pause: async (until) => {
      const forMs = Math.max(0, until.getTime() - clock().getTime());
      if (forMs > maxPauseMs) return false;
      await held.hold(forMs + slotMs);
      return await work.pause(forMs);
    },
  };
}
