export type { CertificateMatch, ConcernedAccount, ConcernedName } from './certificate-match';
export { wasLongExpired } from './long-expired';
export { MonitoredDomainIndex } from './monitored-domain-index';
export { asciiLowerCase, forEachRun } from './name-text';
export { forEachRunInBytes } from './unreadable-bytes';
