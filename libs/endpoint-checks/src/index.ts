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
  type Look,
  type LookUp,
  type NotPresented,
  type NotPresentedReason,
  notPresentedReasons,
  type Presented,
} from './look';
