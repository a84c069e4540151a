import { connectRedis, followDisabledKeys, openRedis, RedisTokenBuckets } from '@certwright/redis';
import {
  ApiKeyCache,
  FailedAuthentication,
  FallbackTokenBuckets,
  HandfulTokenBuckets,
  KeyAuthentication,
  MemoryTokenBuckets,
  RunningProcess,
} from '@certwright/service';
import { Module } from '@nestjs/common';
import { SearchConfig } from '../config';
import { type AccessConfig, anonymousRates, failedAuthenticationRate } from './access-settings';
import { AnonymousLimits } from './anonymous-limits';
import { CoreAccounts, SearchKeys } from './core-accounts';
import { SearchAccess } from './search-access';

/**
 * How long data about a key is cached: applies after a change of its plan, subscription or account, and when the
 * notification that it was disabled is lost. The same as in the other APIs.
 */
const keptMs = 10_000;

/** Provides access control. The core database and Redis may be unavailable, also at the start. */
export function openAccess(config: AccessConfig, running: RunningProcess): SearchAccess {
  const { log, readiness } = running;
  const accounts = new CoreAccounts({
    url: config.DATABASE_URL,
    pooler: config.DATABASE_POOLER,
    applicationName: 'ct-search',
    poolSize: config.DATABASE_POOL_SIZE,
    statementTimeoutMs: config.KEY_TIMEOUT,
  });
  running.opened('core database', () => accounts.close());
  readiness.add('core schema', () => accounts.checkSchema());
  readiness.shared.add('core database', () => accounts.check());
  if (config.DATABASE_POOLER !== 'none')
    readiness.add('settings of the core database', () => accounts.checkSettings());
  const findOwner = async () => await accounts.deployment();
  const access = openRedis({ settings: config, process: running, findOwner });
  const redis = connectRedis(access, { name: 'ct-search-limits', log });
  running.opened('redis', () => redis.close());
  const buckets = new FallbackTokenBuckets(new RedisTokenBuckets(redis), new MemoryTokenBuckets());
  const keys = new ApiKeyCache(new SearchKeys(accounts), { ttlMs: keptMs });
  const news = followDisabledKeys(access, { name: 'ct-search', keys, log });
  running.opened('disabled keys', () => news.close());
  const failures = new FailedAuthentication(buckets, failedAuthenticationRate(config));
  return new SearchAccess(
    new KeyAuthentication(keys, failures),
    new HandfulTokenBuckets(buckets),
    new AnonymousLimits(buckets, anonymousRates(config)),
    config.ANONYMOUS_TIME_LIMIT,
  );
}

@Module({
  providers: [{ provide: SearchAccess, inject: [SearchConfig, RunningProcess], useFactory: openAccess }],
  exports: [SearchAccess],
})
export class AccessModule {}
