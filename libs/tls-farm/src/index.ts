export { type AddressedServer, type Behaviour, serveAddresses } from './addressed-server';
export { presents, type Presenting, says, staysSilent } from './behaviours';
export { FarmCertificates } from './farm-certificates';
export { type FarmChanges, type FarmHost, openTlsFarm, type TlsFarm } from './tls-farm';
