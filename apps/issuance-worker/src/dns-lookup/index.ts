export {
  type LookUpResult,
  type LookUp,
  type LookUpOptions,
  type LookUpType,
  type ReceivedRecord,
} from './look-up';
export { DnsClient, type DnsClientOptions } from './dns-client';
export { findStandingDelegation, type DelegationFinding, type WantedDelegation } from './standing-delegation';
