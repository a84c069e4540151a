export { type Answer, type LookUp, type LookUpOptions, type LookUpType, type ReceivedRecord } from './answer';
export { DnsClient, type DnsClientOptions } from './dns-client';
export { findStandingDelegation, type DelegationFinding, type WantedDelegation } from './standing-delegation';
