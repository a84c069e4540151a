export { AddressGuard } from './addresses/address-guard';
export { type ResolverAddress, ServerAddresses } from './addresses/server-addresses';
export { connectionOrder, networkOf } from './addresses/connection-order';
export { specialPurposeOf } from './addresses/special-purpose';
export { OutboundFault, type OutboundFaultKind } from './outbound-fault';
export { presentedCertificates } from './presented-certificates/presented-certificates';
export { portRefusal } from './request/blocked-ports';
export { guardedRequest, type GuardedAnswer } from './request/guarded-request';
export { Pieces } from './request/pieces';
