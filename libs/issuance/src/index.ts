export {
  bestCertificate,
  type Certificate,
  type CertificateState,
  certificateState,
  type Wanted,
} from './certificate';
export { inTurn, type Turn } from './fairness';
export {
  type Issuance,
  type IssuanceError,
  type IssuanceErrorCode,
  issuanceErrorCodes,
  type IssuanceState,
  issuanceStates,
  type NameApproval,
} from './issuance';
export { type Facts, nextStep, type Step } from './next-step';
export {
  type NoticeDecision,
  noticeDecision,
  type NoticeFacts,
  noticeThresholdsDays,
  type NoticeThresholdDays,
  passedThresholds,
} from './notice';
export { nextAttemptAt, type Phase, phaseOf, phases } from './phase';
export type { Plan } from './plan';
export type { ApprovalMethod, KeyType, Product } from './product';
export {
  type RenewalDecision,
  renewalDecision,
  type RenewalFacts,
  renewalJitter,
  renewalTime,
} from './renewal';
export {
  isReplacedAfterRevocation,
  lastingReason,
  type RevocationReason,
  revocationReason,
  revocationReasons,
} from './revocation';
export { approvalDeadlineMs, dueAfterModification, nextApprovalCheck, nextAttempt } from './schedule';
export type { Terms } from './terms';
