export { describeDocument, describeServedDocumentation, printedRoutes } from './api-documentation';
export { Forge, type Forged, type ForgedParts } from './certificate-forge';
export { certificationRequest, type KeyPair, keyPair, requestedNames, spkiOf } from './certification-request';
export { type Child, isAlive, startChild } from './child';
export { objectId, sequence, tlv } from './der';
export { DocumentedResponses } from './documented-responses';
export { eventually } from './eventually';
export { freePort } from './free-port';
export { type CollectedSpan, otlpCollector, type OtlpCollector } from './otlp-collector';
export { recordSpans } from './recorded-spans';
export { type ReceivedResponse, exchange, type Sent } from './http-exchange';
export { type DocumentedExample, examplesIn, faultsInOpenApi, shapeOf } from './openapi';
export { citusDatabase, citusUrl, type TestDatabase, testDatabase } from './test-database';
export {
  type RedisCluster,
  type RedisServer,
  type RedisServers,
  startRedisCluster,
  startRedisSentinels,
  startRedisServer,
} from './redis-servers';
export { type KeyAndCertificate, TestRoot } from './test-root';
export { RoleSessions } from './role-sessions';
export { rawRedis, type TestRedis, testRedis } from './test-redis';
export { type SeverableLink, severableLink } from './severable-link';
export { type ApiDocument, leaksOf, pastedKeyIn, pastedKeyRequests } from './pasted-keys';
