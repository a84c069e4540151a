import { databaseOutage } from '@certwright/errors';
import { BlockedKeys } from '@certwright/ordering';
import { claimDeployment, withinDatabaseTime, WriteConnections, coreSchema } from '@certwright/core-schema';
import { ApiKeys } from '@certwright/accounts';
import { warnOfExcessPrivileges } from '@certwright/postgres';
import { connectRedis, followDisabledKeys, RedisTokenBuckets } from '@certwright/redis';
import {
  ApiKeyCache,
  Authenticator,
  closeHttpApp,
  createHttpApp,
  FallbackTokenBuckets,
  MemoryTokenBuckets,
  renderErrorObject,
  requestLimits,
  ProcessModule,
  type RunningProcess,
  startRounds,
} from '@certwright/service';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DataSource } from 'typeorm';
import { AnnouncementsProcessorModule } from './announcements/announcements.processor';
import { AppModule } from './app.module';
import { OrdersConfig } from './config';
import { DnsGateway, gatewayClient } from './dns-integrations/dns-gateway';
import { openApiDocument } from './docs/openapi-document';
import { apiPath } from './wire/addresses';

/**
 * Opens everything and listens. Waits for the database for half a minute; Redis may be away, at the start too.
 *
 * @returns the application, which listens on `HOST` and `PORT`
 */
export async function start(config: OrdersConfig, running: RunningProcess): Promise<NestFastifyApplication> {
  const { log, metrics, readiness } = running;
  const redis = connectRedis(config.REDIS_URL, { name: 'orders-v3-limits', log });
  running.opened('redis', () => redis.close());
  const buckets = new FallbackTokenBuckets(new RedisTokenBuckets(redis.client), new MemoryTokenBuckets());
  // Keys are looked up in the application's database, which is there before the first request is.
  const keys = new ApiKeyCache({ find: async (secretSha256) => await app.get(ApiKeys).find(secretSha256) });
  const gateway = gatewayClient(config);
  running.opened('dns gateway', () => gateway?.close());
  const writes = new WriteConnections(
    Math.max(1, Math.min(config.WRITE_CONNECTIONS, config.DATABASE_POOL_SIZE - 1)),
  );
  const api = AppModule.forRoot(config, new DnsGateway(gateway));
  const own = [ProcessModule.forRoot(OrdersConfig, config, running), AnnouncementsProcessorModule];
  const app: NestFastifyApplication = await createHttpApp(
    { ...api, imports: [...(api.imports ?? []), ...own] },
    {
      log,
      metrics,
      readiness,
      renderProblem: renderErrorObject,
      toProblem: databaseOutage,
      authenticator: new Authenticator(keys, buckets, requestLimits(config)),
      trustedProxies: config.TRUSTED_PROXIES,
      around: (handle) => withinDatabaseTime(config.DATABASE_TIME, handle),
      beginWrite: () => writes.begin(),
      documentation: {
        path: apiPath,
        publicUrl: config.PUBLIC_URL,
        statusPath: '/readyz',
        document: openApiDocument,
      },
    },
  );
  running.opened('http', () => closeHttpApp(app, config.DRAIN_TIME));
  const database = app.get(DataSource);
  await claimDeployment(database, config.CERTWRIGHT_MODE);
  if (config.CERTWRIGHT_MODE === 'production' && !(await app.get(BlockedKeys).isListLoaded())) {
    log.warn({ docs: 'docs/operating.md#blocked-keys' }, 'no list of blocked keys loaded');
  }
  await warnOfExcessPrivileges(database, coreSchema, 'orders-v3', log);
  readiness.add('database', () => database.query('SELECT 1'));
  const news = followDisabledKeys(config.REDIS_URL, { name: 'orders-v3', keys, log });
  running.opened('disabled keys', () => news.close());
  await app.listen(config.PORT, config.HOST);
  startRounds(app, running);
  log.info({ url: await app.getUrl() }, 'listening');
  return app;
}
