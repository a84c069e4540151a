export {
  type ApprovalRecord,
  type ApprovalRecordState,
  approvalRecordStates,
  nextRecordStep,
  type RecordChange,
  type RecordInputs,
  type RecordFinding,
  recordNotReady,
  type RecordStanding,
  recordStanding,
  type RecordStep,
  whenAdded,
  whenFailed,
  whenRemoved,
} from './approval-record';
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
  mayBeApprovedBy,
  type NameApproval,
} from './issuance';
export {
  type Coverage,
  type IntegrationZone,
  type LiveRecord,
  noCoverage,
  type Placement,
  placements,
  zoneFor,
  zoneNamesOver,
} from './placement';
export { type StepInputs, nextStep, type Step } from './next-step';
export {
  type NoticeDecision,
  noticeDecision,
  type NoticeInputs,
  noticeThresholdsDays,
  type NoticeThresholdDays,
  passedThresholds,
} from './notice';
export { type ApprovalOutcome, listed, type Listed, type NameServerAnswer } from './outcome/approval-outcome';
export {
  type AcmeProblemType,
  acmeProblemTypes,
  type AuthorityOutcome,
  type CaLimitKind,
  type NameRefusal,
  type RefusalReason,
} from './outcome/authority-outcome';
export { type Outcome, type OutcomeCode, type OutcomeOf, outcomeTime } from './outcome/outcome';
export { nextAttemptAt, type Phase, phaseOf, phases } from './phase';
export type { Plan } from './plan';
export type { ApprovalMethod, ApprovalWay, KeyType, Product, ProductAuthority } from './product';
export {
  buysTerm,
  type Charge,
  chargeFor,
  covers,
  type Paid,
  type Purchase,
  type PurchaseKind,
  type PurchaseLine,
  type PurchaseRequest,
  runningTerm,
  type SoldProduct,
} from './purchase';
export { amountText, decimalOf, readAmount } from './purchase-amount';
export { type BillableNames, billableNames } from './purchase-names';
export { paidWithout, type TakeOver, takeOver, type UnusedCharge } from './purchase-takeover';
export {
  type NewKeyInputs,
  type NextReplacement,
  nextReplacement,
  lapsedDays,
  nextWindowLook,
  purchaseTime,
  type RenewalDecision,
  renewalDecision,
  type RenewalInputs,
  renewalJitter,
  renewalTime,
  renewalTimeIn,
} from './renewal';
export {
  type CoveredReplacement,
  coveredReplacement,
  endsWithinTerm,
  type OfferedTerms,
  type PresentTerms,
  type RenewalTerms,
  replacementOfRevoked,
} from './renewal-terms';
export {
  isReplacedAfterRevocation,
  lastingReason,
  type RevocationReason,
  revocationReason,
  revocationReasons,
} from './revocation';
export {
  approvalDeadlineMs,
  dueAfterModification,
  nextAfterStall,
  nextApprovalCheck,
  nextAttempt,
  nextAuthorityLook,
  nextRecordTry,
  nextUnexpectedAttempt,
} from './schedule';
export type { Terms } from './terms';
