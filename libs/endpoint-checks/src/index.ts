export { advance, type EndpointAdvance, isBad, isConfirmed, markReported, withoutReports } from './advance';
export { type CaKey, CaKeys } from './ca-keys';
export {
  checkHost,
  type CheckOutcome,
  type CurrentCertificate,
  type HostCheck,
  type LeafFacts,
  type ServedAddress,
  type ServedCertificate,
} from './check-host';
export {
  type EndpointFinding,
  type EndpointState,
  endpointStates,
  type FindingCode,
  findingCodes,
  type TrackedFinding,
} from './finding';
export {
  type AddressLook,
  type HostLook,
  isLook,
  type Look,
  type LookedAtHost,
  lookPatienceMs,
  type LookQuestion,
  type LookUp,
  lookWithinMs,
  maxAddressesOfHost,
  maxAddressesOfLook,
  maxCertificateBytesOfLook,
  maxHostsOfLook,
  maxPortsOfHost,
  type NotPresented,
  type NotPresentedReason,
  notPresentedReasons,
  type Presented,
} from './look';
export { type PresentedLeaf, ReadLook } from './read-look';
export { casBelow, type Trust } from './trust-path';
