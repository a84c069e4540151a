export { Forge, type Forged, type ForgedParts } from './certificate-forge';
export { type Child, type ChildOptions, type Ending, isAlive, startChild } from './child';
export { DocumentedResponses, type JsonResponse } from './documented-responses';
export { eventually, type Patience } from './eventually';
export { freePort } from './free-port';
export { type CollectedSpan, otlpCollector, type OtlpCollector } from './otlp-collector';
export { recordSpans, type RecordedSpan } from './recorded-spans';
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
export { rawRedis, type TestRedis, testRedis } from './test-redis';
export { type SeverableLink, severableLink } from './severable-link';
export { type ApiDocument, pastedKeyIn, type PastedKeyRequest, pastedKeyRequests } from './pasted-keys';
