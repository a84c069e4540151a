export {
  type ApprovalRecord,
  type ApprovalRecordState,
  nextRecordStep,
  type RecordChange,
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
export { inTurn } from './fairness';
export {
  type Issuance,
  type IssuanceError,
  type IssuanceErrorCode,
  issuanceErrorCodes,
  type IssuanceState,
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
export { nextStep, type Step } from './next-step';
export { isOvertaken, noticeDecision, noticeThresholdsDays } from './notice';
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
  type Paid,
  type Purchase,
  type PurchaseKind,
  runningTerm,
  type SoldProduct,
} from './purchase';
export { amountText, decimalOf, readAmount } from './purchase-amount';
export { paidWithout, type TakeOver, takeOver, type UnusedCharge } from './purchase-takeover';
export {
  earliestRenewal,
  type NewKeyInputs,
  nextReplacement,
  lapsedDays,
  nextWindowLook,
  type RenewalDecision,
  renewalDecision,
  type RenewalInputs,
  renewalJitter,
  renewalTime,
  renewalTimeIn,
} from './renewal';
export { endsWithinTerm, type OfferedTerms, replacementOfRevoked } from './renewal-terms';
export {
  isReplacedAfterRevocation,
  lastingReason,
  type RevocationReason,
  revocationReason,
  revocationReasons,
} from './revocation';
export {
  dueAfterModification,
  nextAfterStall,
  nextApprovalCheck,
  nextAttempt,
  nextUnexpectedAttempt,
} from './schedule';
export type { Terms } from './terms';
