export { OrderingModule } from './ordering.module';
export { BlockedKeys, reportedKeyReason } from './blocked-keys/blocked-keys';
export { type Attachment, Attachments } from './certificates/attachments';
export { Certificates, type StoredCertificate } from './certificates/certificates';
export { Issuances, type LatestIssuance, type RecordOfPlan } from './issuances/issuances';
export { type IssuanceProgress, LeasedIssuances } from './issuances/leased-issuances';
export { type LeasedWork } from './issuances/leased-work';
export { type Replacement, openReplacements } from './issuances/replacements';
export { WaitingIssuances } from './issuances/waiting-issuances';
export {
  endKeyRequest,
  endRenewalKeyRequests,
  hasKeyRequests,
  type KeyPlan,
  keyPlans,
  requestKey,
  requestRenewalKeys,
  retryKeyRequest,
} from './key-requests/key-requests';
export { type NewTerms, Plans } from './plans/plans';
export { Products } from './products/products';
export { type PurchaseTerms, Purchases, type Quote } from './purchases/purchases';
export { type RevocationRequest, Revocations } from './revocations/revocations';
