export { type CaaQuestion, caaText, checkCaa } from './caa/caa';
export { type CaaFinding, relevantCaa } from './caa/relevant-caa';
export { DnsClient } from './dns-client';
export { DnsServers, lookUpUntil } from './dns-servers';
export {
  type LookUp,
  type LookUpOptions,
  type LookUpResult,
  type LookUpType,
  normalForm,
  type ReceivedRecord,
} from './look-up';
