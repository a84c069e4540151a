export { issuedMismatchMessage, pemFaultMessage, unreadableCertificateMessage } from './certificate-messages';
export { csrFaultMessage } from './csr-messages';
export { messageOf, outcomeMessages, type OutcomeMessages } from './outcome-messages';
export {
  approvalOf,
  issuanceErrorOf,
  neutralMessage,
  type StoredApproval,
  type StoredIssuanceError,
  storedOutcome,
  toStoredApproval,
  toStoredIssuanceError,
} from './stored-outcome';
