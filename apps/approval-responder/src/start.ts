import { databaseOutage } from '@certwright/errors';
import { awaitDeployment, coreSchema } from '@certwright/core-schema';
import { Challenges } from '@certwright/approvals';
import { warnOfExcessPrivileges } from '@certwright/postgres';
import { connectRedis, RedisTokenBuckets } from '@certwright/redis';
import {
  closeHttpApp,
  createHttpApp,
  FallbackTokenBuckets,
  MemoryTokenBuckets,
  type RunningProcess,
} from '@certwright/service';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DataSource } from 'typeorm';
import { AppModule } from './app.module';
import type { ResponderConfig } from './config';
import { startDns } from './dns/start-dns';
import { AddressLimit } from './limits/address-limit';
import { renderProblem } from './wire/problem';

/** A page that asks for approval is never shown inside another one, nor indexed; CSP says the first to newer browsers. */
const headersOfAll = { 'x-frame-options': 'DENY', 'x-robots-tag': 'noindex' };

/** A burst of requests per client address, in seconds of its rate. */
const burstS = 10;

/**
 * Opens everything and listens. Waits for the database for half a minute; Redis may be away, at the start too.
 *
 * @returns the application, which listens on `HOST` and `PORT`
 */
export async function start(
  config: ResponderConfig,
  running: RunningProcess,
): Promise<NestFastifyApplication> {
  const { log, metrics, readiness } = running;
  const redis = connectRedis(config.REDIS_URL, { name: 'approval-responder-limits', log });
  running.opened('redis', () => redis.close());
  const buckets = new FallbackTokenBuckets(new RedisTokenBuckets(redis.client), new MemoryTokenBuckets());
  const app = await createHttpApp(AppModule.forRoot(config), {
    log,
    metrics,
    readiness,
    renderProblem,
    toProblem: databaseOutage,
    acceptForms: true,
    headers: headersOfAll,
    trustedProxies: config.TRUSTED_PROXIES,
  });
  running.opened('http', () => closeHttpApp(app, config.DRAIN_TIME));
  const { REQUESTS_PER_S: ratePerS } = config;
  app.useGlobalGuards(new AddressLimit(buckets, { ratePerS, burst: burstS * ratePerS }));
  const database = app.get(DataSource);
  await awaitDeployment(database, config.CERTWRIGHT_MODE);
  await warnOfExcessPrivileges(database, coreSchema, 'approval-responder', log);
  readiness.add('database', () => database.query('SELECT 1'));
  await startDns(config, running, app.get(Challenges));
  await app.listen(config.PORT, config.HOST);
  log.info({ url: await app.getUrl() }, 'listening');
  return app;
}
