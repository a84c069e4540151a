import type { IssuedMismatch } from '@certwright/pki';
import type { Issuance, IssuanceError, NameApproval } from './issuance';
import { outcomeTime } from './outcome/outcome';
import { approvalDeadlineMs } from './schedule';

/** Inputs besides the issuance itself. */
export interface StepInputs {
  readonly paused: boolean;
  readonly planClosed: boolean;
  readonly productAvailable: boolean;
  /** The key was put on the list of blocked keys since the order came. */
  readonly keyBlocked: boolean;
  /** The CA was requested to issue, so there may be a certificate. Read for a blocked key only. */
  readonly mayBeIssued: boolean;
  /** Names, without `*.`, for which an integration of the account is still to publish a record. */
  readonly unpublished: readonly string[];
  /** How the certificate differs from the requested terms; null before the CA delivered one. */
  readonly certificateFaults: readonly IssuedMismatch[] | null;
}

export type Step =
  /** Only states which records are required: publishing takes long and runs separately. */
  | { readonly kind: 'publish-approvals'; readonly dnsNames: readonly string[] }
  | { readonly kind: 'check-approvals'; readonly dnsNames: readonly string[] }
  | { readonly kind: 'submit-to-ca' }
  | { readonly kind: 'collect' }
  | { readonly kind: 'attach' }
  /** Stores the certificate as revoked for a compromised key; the issuance fails. */
  | { readonly kind: 'attach-revoked'; readonly error: IssuanceError }
  | { readonly kind: 'wait'; readonly until: Date }
  | { readonly kind: 'fail'; readonly error: IssuanceError; readonly final: boolean }
  | { readonly kind: 'cancel'; readonly error: IssuanceError | null }
  | { readonly kind: 'done' };

/** Decides the one next step of an issuance. Every step may be repeated after a crash. */
export function nextStep(issuance: Issuance, inputs: StepInputs, now: Date): Step {
  const isClosed = issuance.state !== 'open';
  // Going on after a pause is a modification, and that opens a new issuance.
  if (isClosed || inputs.planClosed || inputs.paused) {
    if (inputs.mayBeIssued) return withBlockedKey(inputs);
    return isClosed ? { kind: 'done' } : { kind: 'cancel', error: null };
  }
  if (issuance.dueAt.getTime() > now.getTime()) return { kind: 'wait', until: issuance.dueAt };

  if (inputs.keyBlocked) return withBlockedKey(inputs);
  if (issuance.caReference === null && isOver(issuance, now)) return termIsOver(issuance);
  const pending = issuance.approvals.filter(({ status }) => status === 'pending');
  if (pending.length > 0) return approve(issuance, pending, inputs.unpublished, now);
  if (!inputs.productAvailable) return unavailable;
  if (issuance.caReference === null) return { kind: 'submit-to-ca' };
  if (inputs.certificateFaults === null) return { kind: 'collect' };
  if (inputs.certificateFaults.length > 0) return wrongCertificate(inputs.certificateFaults, now);
  return { kind: 'attach' };
}

/** Baseline Requirements 6.1.1.3: a CA refuses a key that is known to be compromised. */
const keyCompromised: IssuanceError = { code: 'key_compromised', outcome: { code: 'key_compromised' } };

/** A certificate that the CA may have issued is collected: otherwise it could not be revoked. */
function withBlockedKey({ mayBeIssued, certificateFaults }: StepInputs): Step {
  if (mayBeIssued && certificateFaults === null) return { kind: 'collect' };
  return mayBeIssued && certificateFaults?.length === 0
    ? { kind: 'attach-revoked', error: keyCompromised }
    : { kind: 'fail', final: true, error: keyCompromised };
}

/** A certificate with a shorter validity is not worth installing. */
const minValidityMs = 60 * 60 * 1_000;

const dayMs = 24 * 60 * 60 * 1_000;

/**
 * Final outcome once no progress is possible; a certificate that was requested from a CA in time is still accepted.
 */
function isOver({ expiresBy }: Issuance, now: Date): boolean {
  return expiresBy !== null && expiresBy.getTime() - now.getTime() < minValidityMs;
}

function termIsOver({ expiresBy }: Issuance): Step {
  const endsAt = expiresBy === null ? '' : outcomeTime(expiresBy);
  const outcome = { code: 'paid_term_over', endsAt } as const;
  return { kind: 'fail', final: true, error: { code: 'ca_rejected', outcome } };
}

const unavailable: Step = {
  kind: 'fail',
  final: false,
  error: { code: 'product_unavailable', outcome: { code: 'product_unavailable' } },
};

/** The last check approved the name, and is too old to rely on: only another check shows whether it still is. */
function isToBeConfirmed({ checkedAt, problem }: NameApproval): boolean {
  return checkedAt !== null && problem === null;
}

function approve(
  issuance: Issuance,
  pending: readonly NameApproval[],
  unpublished: readonly string[],
  now: Date,
): Step {
  const namesOf = (approvals: readonly NameApproval[]) => approvals.map(({ dnsName }) => dnsName);
  const unapproved = pending.filter((approval) => !isToBeConfirmed(approval));
  if (unapproved.length === 0 || now.getTime() < issuance.openedAt.getTime() + approvalDeadlineMs) {
    return unpublished.length > 0
      ? { kind: 'publish-approvals', dnsNames: unpublished }
      : { kind: 'check-approvals', dnsNames: namesOf(pending) };
  }
  const days = Math.round(approvalDeadlineMs / dayMs);
  const outcome = { code: 'approval_timeout', dnsNames: namesOf(unapproved), days } as const;
  return { kind: 'cancel', error: { code: 'approval_timeout', outcome } };
}

/** How much later than now a certificate may begin: the clock of a CA may be ahead, and not every CA backdates. */
const maxClockDifferenceMs = 5 * 60 * 1_000;

/** Waits for a certificate whose only fault is that it begins soon: collecting it again returns the same one. */
function wrongCertificate(faults: readonly IssuedMismatch[], now: Date): Step {
  const beginsMs = Math.max(
    ...faults.map((fault) => (fault.code === 'not_yet_valid' ? Date.parse(fault.notBefore) : Infinity)),
  );
  return beginsMs - now.getTime() <= maxClockDifferenceMs
    ? { kind: 'wait', until: new Date(beginsMs) }
    : mismatch(faults);
}

function mismatch(faults: readonly IssuedMismatch[]): Step {
  const outcome = { code: 'certificate_mismatch', faults } as const;
  return { kind: 'fail', final: true, error: { code: 'certificate_mismatch', outcome } };
}
