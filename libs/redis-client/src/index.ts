export { checkWrites } from './check-writes';
export { RedisAccess, type RedisClient, type RedisUse } from './redis-access';
export { type RedisSettings, redisSettingsOf } from './redis-settings';
export type { Cluster, Redis } from 'ioredis';
