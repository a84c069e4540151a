export { checkWrites } from './check-writes';
export { logChanges, type RedisLog } from './log-changes';
export { RedisAccess, type RedisClient, type RedisTenancy } from './redis-access';
export { whenReady } from './when-ready';
export { type RedisSettings, redisSettingsOf } from './redis-settings';
export type { Cluster, Redis } from 'ioredis';
