export {
  baseUrl,
  boolean,
  durationMs,
  filePath,
  hostPort,
  network,
  integer,
  list,
  oneOf,
  port,
  secret,
  string,
  url,
} from './config/setting-kinds';
export { followGateway, gatewayConnection, gatewaySettings } from './config/gateway-settings';
export { databaseUrl, poolerSettings } from './config/database-settings';
export { sealingKeys } from './config/sealing-keys';
export { type Setting } from './config/setting';
export { Secret } from './config/secret';
export { defineSettings, fileFault, SettingsError, type SettingValues } from './config/settings';
export { createLogger, type Logger, nestLogger } from './logging/logger';
export { Html, html, inlineStyle, pagePolicy } from './html/html';
export { MaxBody, SentBytes } from './http/body-parsers';
export { closeHttpApp, createHttpApp } from './http/http-app';
export type { HttpAppOptions } from './http/http-options';
export { canonicalJson, readIdempotencyKey } from './http/idempotency-key';
export { parseJsonBody } from './http/json-body';
export { type HttpTls, renewTls } from './http/tls';
export { followTls, observeCertificate } from './tls/follow-tls';
export { keyPairFaults, readCertificate } from './tls/key-pair-faults';
export { documentationPaths, type DocumentedApi } from './documentation/api-documentation';
export { prefersHtml } from './documentation/prefers-html';
export { ErrorExamples } from './documentation/error-examples';
export { asJsonSchema2020 } from './documentation/json-schema-2020';
export { controllersDocument } from './documentation/controllers-document';
export { type OperationExamples, withExamples } from './documentation/operation-examples';
export type { RenderedProblem } from './http/problem-response';
export { errorObject, renderErrorObject } from './http/error-object';
export { apiKeySha256, mintApiKey } from './authentication/api-key';
export { Authenticator, type CallerIdentity, isUser } from './authentication/authenticator';
export { Caller } from './authentication/caller';
export { ApiKeyCache, type ApiKeys } from './authentication/key-cache';
export { Sender, type SignedHead, type SignedRequests } from './authentication/signed-requests';
export { FailedAuthentication, ofAddress } from './authentication/failed-authentication';
export { KeyAuthentication } from './authentication/key-authentication';
export { hashPassword } from './authentication/password-hash';
export { Passwords } from './authentication/passwords';
export {
  Authenticated,
  isAllowed,
  permissions,
  Public,
  RequirePermission,
  Signed,
} from './authentication/route-access';
export { addressKey } from './limits/client-address';
export { FallbackTokenBuckets } from './limits/fallback-token-buckets';
export { HandfulTokenBuckets } from './limits/handful-token-buckets';
export { InProgress } from './limits/in-progress';
export { ListTurns, maxListsInTurn } from './limits/list-turns';
export { MemoryTokenBuckets, type Rate, type TokenBuckets } from './limits/token-buckets';
export { limitSettings, type RequestLimits, requestLimits } from './limits/request-limits';
export { Turns } from './limits/turns';
export { Metrics } from './operations/metrics';
export { Readiness } from './operations/readiness';
export { type ProcessConfig, processSettings } from './lifecycle/process-settings';
export { releaseAfterOutage, repeatDuringOutage } from './lifecycle/release-after-outage';
export { repeat, type Repeating } from './lifecycle/repeating';
export { within } from './lifecycle/within';
export { runProcess, RunningProcess } from './lifecycle/run-process';
export { BooleanMember, EnumMember, Ignored, MayBeAbsent, TextMember } from './validation/members';
export {
  type MemberFault,
  ReadBy,
  type ReadMembers,
  readMembers,
  ReadObject,
  unknownMemberFaults,
  Unreadable,
} from './validation/read-members';
export {
  BodyOf,
  documentedParameter,
  NoBody,
  requestReading,
  validMembers,
  ValidQuery,
} from './validation/request-parts';
export { Drain, ProcessModule, startModules, startRounds } from './lifecycle/process.module';
export { Round, type RoundOfWork, Rounds } from './lifecycle/rounds';
export { WakeUp } from './lifecycle/wake-up';
export { frontSettings } from './config/front-settings';
export { httpSettings } from './config/http-settings';
export { redisSettings } from './config/redis-settings';
export {
  emptyResponse,
  type HttpResponse,
  type JsonResponse,
  jsonResponse,
  sendResponse,
} from './wire/http-response';
export { commonErrors, errorDecorators, ErrorSchema } from './wire/documented-errors';
export { isObjectId, ObjectId } from './wire/object-id';
export { After, Expand, Limit, maxPageSize, pageOf } from './wire/pages';
export { TextLine } from './wire/text-line';
export { timestamp } from './wire/timestamp';
