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
