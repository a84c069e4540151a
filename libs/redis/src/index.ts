export { connectRedis, type RedisConnection } from './redis-connection';
export { openRedis, RedisModule } from './redis.module';
export { AddressOccupancy, type AddressOccupancyOptions, type Occupant } from './address-occupancy';
export { RedisTokenBuckets } from './redis-token-buckets';
export { ProbeQuestions } from './probe-questions';
export { QuestionServer } from './transport/question-server';
export {
  type ChallengePlace,
  ChallengeValues,
  type Remembered,
  type ValuesAt,
} from './challenge-values/challenge-values';
export { announceDisabledKey, disabledKeysChannel, followDisabledKeys } from './disabled-keys';
export { IssuanceNews } from './issuance-news';
export { IssuanceNewsListener } from './issuance-news-listener';
export { OutboxNews, OutboxNewsListener } from './outbox-news';
