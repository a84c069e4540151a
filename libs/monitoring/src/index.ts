export type { CertificateMatch, ConcernedAccount, ConcernedName } from './certificate-match';
export { type MatchLimits, MonitoredDomainIndex } from './monitored-domain-index';
