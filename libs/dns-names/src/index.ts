export {
  approvalLabelOf,
  canHaveApprovalRecord,
  constructedApproverAddresses,
  isConstructedApproverAddress,
  maxLengthOfApprovedByDns,
  type StandingRecord,
  standingRecords,
} from './standing-records';
export { ancestorsToRegisteredDomain, baseName, isWildcard, registeredDomain } from './domain-tree';
export { parseDnsName, parseDnsNames, parsePublicName } from './dns-name';
export type { CaaReason, LookUpFailure } from './dns-findings';
export { mostSpecificMatch, type ParsedMonitoredName, parseMonitoredName } from './monitored-name';
export { quoteInput } from './quote-input';
export { secretBytes, secretLabel } from './secret-label';
