export {
  connectRedis,
  type RedisConnection,
  type RedisKeys,
  type RedisConnectionOptions,
} from './redis-connection';
export { openRedis, RedisModule, type RedisOptions } from './redis.module';
export { AddressOccupancy, type AddressOccupancyOptions, type Occupant } from './address-occupancy';
export { RedisTokenBuckets } from './redis-token-buckets';
export { ProbeQuestions } from './probe-questions';
export { QuestionServer, type QuestionServerOptions } from './transport/question-server';
export {
  type ChallengePlace,
  ChallengeValues,
  type Remembered,
  type ValuesAt,
} from './challenge-values/challenge-values';
export {
  announceDisabledKey,
  disabledKeysChannel,
  type DisabledKeysOptions,
  followDisabledKeys,
  type RememberedKeys,
} from './disabled-keys';
export { IssuanceNews, issuanceNewsChannel, type IssuanceNewsOptions } from './issuance-news';
export { IssuanceNewsListener, type IssuanceNewsListenerOptions } from './issuance-news-listener';
export { type OutboxCommits, OutboxNews, OutboxNewsListener, type OutboxNewsOptions } from './outbox-news';
