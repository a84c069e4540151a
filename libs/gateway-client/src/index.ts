export type { Asked, Gateway } from './gateway';
export { GatewayClient } from './gateway-client';
export { GatewayFault, type GatewayFaultCode } from './gateway-fault';
export { sealCredentials } from './seal-credentials';
