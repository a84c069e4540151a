export {
  connectRedis,
  type RedisConnection,
  type RedisConnectionOptions,
  type RedisLog,
} from './redis-connection';
export { RedisTokenBuckets } from './redis-token-buckets';
export { type AskingOptions } from './questions/asked-questions';
export { ProbeQuestions, probeQueue } from './questions/probe-questions';
export { type AnswerQuestion, TakenQuestions, type TakingOptions } from './questions/taken-questions';
export {
  type ChallengePlace,
  ChallengeValues,
  type Remembered,
  type ValuesAt,
} from './challenge-values/challenge-values';
export {
  disabledKeysChannel,
  type DisabledKeysOptions,
  followDisabledKeys,
  type RememberedKeys,
} from './disabled-keys';
export { IssuanceNews, issuanceNewsChannel, type IssuanceNewsOptions } from './issuance-news/issuance-news';
export {
  IssuanceNewsListener,
  type IssuanceNewsListenerOptions,
} from './issuance-news/issuance-news-listener';
