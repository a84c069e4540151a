export {
  parseRedisUrl,
  type RedisAddress,
  type RedisNode,
  type RedisTopology,
  redisUrlSchemes,
} from './redis-address';
