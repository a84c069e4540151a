export {
  connectRedis,
  type RedisConnection,
  type RedisConnectionOptions,
  type RedisLog,
} from './redis-connection';
export { RedisTokenBuckets } from './redis-token-buckets';
