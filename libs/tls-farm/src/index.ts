export { type AddressedServer, serveAddresses } from './addressed-server';
export { presents, says, staysSilent } from './behaviours';
export { type FarmHost, openTlsFarm, type TlsFarm } from './tls-farm';
