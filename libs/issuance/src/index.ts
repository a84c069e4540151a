export {
  bestCertificate,
  type Certificate,
  type CertificateState,
  certificateState,
  type Wanted,
} from './certificate';
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
export { nextAttemptAt, type Phase, phaseOf, phases } from './phase';
export type { Plan } from './plan';
export type { ApprovalMethod, KeyType, Product } from './product';
export { approvalDeadlineMs, dueAfterModification, nextApprovalCheck, nextAttempt } from './schedule';
export type { Terms } from './terms';
