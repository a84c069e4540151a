export { AddressGuard, type AddressGuardOptions } from './addresses/address-guard';
export {
  type ResolverAddress,
  ServerAddresses,
  type ServerAddressesOptions,
} from './addresses/server-addresses';
export { connectionOrder, networkOf } from './addresses/connection-order';
export { specialPurposeOf } from './addresses/special-purpose';
export { OutboundFault, type OutboundFaultKind, outboundFaultKinds } from './outbound-fault';
export {
  type CertificateViewing,
  type Presentation,
  presentedCertificates,
} from './presented-certificates/presented-certificates';
export { portRefusal } from './request/blocked-ports';
export { type TlsTrust } from './request/connection';
export { guardedRequest, type GuardedAnswer, type GuardedRequest } from './request/guarded-request';
export { Pieces } from './request/pieces';
