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
