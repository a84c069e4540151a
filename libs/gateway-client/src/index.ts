export { type Answered, type Asked, type Gateway } from './gateway';
export { GatewayClient, type GatewayClientOptions } from './gateway-client';
export { GatewayFault, type GatewayFaultCode, type GatewayFaultDetails } from './gateway-fault';
export { sealCredentials } from './seal-credentials';
