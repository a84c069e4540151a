import { databaseOutage } from '@certwright/errors';
import { BlockedKeys } from '@certwright/ordering';
import { claimDeployment, withinDatabaseTime, WriteConnections, coreSchema } from '@certwright/core-schema';
import { AccountUsers, ApiKeys } from '@certwright/accounts';
import { warnOfExcessPrivileges } from '@certwright/postgres';
import {
  connectRedis,
  followDisabledKeys,
  IssuanceNews,
  ProbeQuestions,
  RedisTokenBuckets,
} from '@certwright/redis';
import {
  ApiKeyCache,
  Authenticator,
  closeHttpApp,
  createHttpApp,
  FallbackTokenBuckets,
  MemoryTokenBuckets,
  Passwords,
  requestLimits,
  ProcessModule,
  type RunningProcess,
  startRounds,
} from '@certwright/service';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DataSource } from 'typeorm';
import { AnnouncementsProcessorModule } from './announcements/announcements.processor';
import { AppModule } from './app.module';
import { LookLimit } from './cert-objects/look-limit';
import { CertsConfig } from './config';
import { openApiDocument } from './docs/openapi-document';
import { TestLimit } from './installation-test/test-limit';
import { openWaiting } from './instances/open-waiting';
import { PendingInstances } from './instances/pending-instances';
import { jsonContentType } from './wire/answer';
import { renderProblem } from './wire/problem';

/**
 * Opens everything and listens. Waits for the database for half a minute; Redis may be away, at the start too.
 *
 * @returns the application, which listens on `HOST` and `PORT`
 */
export async function start(config: CertsConfig, running: RunningProcess): Promise<NestFastifyApplication> {
  const { log, metrics, readiness } = running;
  const redis = connectRedis(config.REDIS_URL, { name: 'certs-v2-limits', log });
  running.opened('redis', () => redis.close());
  const buckets = new FallbackTokenBuckets(new RedisTokenBuckets(redis.client), new MemoryTokenBuckets());
  const probes = new ProbeQuestions(config.REDIS_URL, { name: 'certs-v2-probes', log });
  running.opened('questions to the prober', () => probes.close());
  // Keys and users are looked up in the application's database, which is there before the first request is.
  const keys = new ApiKeyCache({ find: async (secretSha256) => await app.get(ApiKeys).find(secretSha256) });
  const passwords = new Passwords({ find: async (name) => await app.get(AccountUsers).find(name) });
  const waiting = openWaiting(config.REDIS_URL, running, () => app);
  const surroundings = [
    { provide: ProbeQuestions, useValue: probes },
    { provide: LookLimit, useValue: new LookLimit(buckets) },
    { provide: TestLimit, useValue: new TestLimit(buckets, config.INSTALLATION_TESTS_PER_MIN) },
    { provide: IssuanceNews, useValue: waiting.news },
    { provide: PendingInstances, useValue: waiting.pending },
  ];
  const writes = new WriteConnections(
    Math.max(1, Math.min(config.WRITE_CONNECTIONS, config.DATABASE_POOL_SIZE - 1)),
  );
  const api = AppModule.forRoot(config, surroundings);
  const own = [ProcessModule.forRoot(CertsConfig, config, running), AnnouncementsProcessorModule];
  const root = { ...api, imports: [...(api.imports ?? []), ...own] };
  const app: NestFastifyApplication = await createHttpApp(root, {
    log,
    metrics,
    readiness,
    renderProblem,
    toProblem: databaseOutage,
    authenticator: new Authenticator(keys, buckets, requestLimits(config), passwords),
    trustedProxies: config.TRUSTED_PROXIES,
    around: (handle) => withinDatabaseTime(config.DATABASE_TIME, handle),
    beginWrite: () => writes.begin(),
    jsonContentType,
    acceptForms: true,
    documentation: {
      path: '/api/v2',
      publicUrl: config.PUBLIC_URL,
      statusPath: '/readyz',
      document: openApiDocument,
    },
  });
  running.opened('http', () => closeHttpApp(app, config.DRAIN_TIME));
  running.opened('waiting polls', () => waiting.pending.close());
  const database = app.get(DataSource);
  await claimDeployment(database, config.CERTWRIGHT_MODE);
  if (config.CERTWRIGHT_MODE === 'production' && !(await app.get(BlockedKeys).isListLoaded())) {
    log.warn({ docs: 'docs/operating.md#blocked-keys' }, 'no list of blocked keys loaded');
  }
  await warnOfExcessPrivileges(database, coreSchema, 'certs-v2', log);
  readiness.add('database', () => database.query('SELECT 1'));
  const news = followDisabledKeys(config.REDIS_URL, { name: 'certs-v2', keys, log });
  running.opened('disabled keys', () => news.close());
  await app.listen(config.PORT, config.HOST);
  startRounds(app, running);
  log.info({ url: await app.getUrl() }, 'listening');
  return app;
}
