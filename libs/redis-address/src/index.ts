export { parseRedisUrl, type RedisAddress, type RedisNode, redisUrlSchemes } from './redis-address';
