export { type AddressedServer, type Behaviour, serveAddresses } from './addressed-server';
export { presents, says, staysSilent } from './behaviours';
export { type FarmHost, openTlsFarm, type TlsFarm } from './tls-farm';
