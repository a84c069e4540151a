export { approvalLabelOf, constructedApproverAddresses, isConstructedApproverAddress } from './approval';
export { ancestorsToRegisteredDomain, baseName, isWildcard, registeredDomain } from './domain-tree';
export { type DnsNameFaultCode, type ParsedDnsName, parseDnsName, parsePublicName } from './dns-name';
export { type DnsNameListFault, type ParsedDnsNames, parseDnsNames } from './dns-name-list';
export { mostSpecificMatch, parseMonitoredName } from './monitored-name';
export { quoteInput } from './quote-input';
export { secretBytes, secretLabel } from './secret-label';
export { type StandingRecord, standingRecords } from './standing-records';
