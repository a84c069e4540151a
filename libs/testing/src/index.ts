export { type Child, type ChildOptions, type Ending, isAlive, startChild } from './child';
export { DocumentedResponses, type JsonResponse } from './documented-responses';
export { eventually, type Patience } from './eventually';
export { freePort } from './free-port';
export { type DocumentedExample, examplesIn, faultsInOpenApi, shapeOf } from './openapi';
export { type TestDatabase, testDatabase } from './test-database';
export { type TestRedis, testRedis } from './test-redis';
export { type SeverableLink, severableLink } from './severable-link';
export { type ApiDocument, pastedKeyIn, type PastedKeyRequest, pastedKeyRequests } from './pasted-keys';
