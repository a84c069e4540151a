import { randomBytes } from 'node:crypto';
import { databaseOutage } from '@certwright/errors';
import { noProbeAnswer } from '@certwright/jobs';
import { ApiKeys } from '@certwright/accounts';
import { claimDeployment } from '@certwright/core-schema';
import { IssuanceNews, ProbeQuestions } from '@certwright/redis';
import {
  ApiKeyCache,
  Authenticator,
  createHttpApp,
  createLogger,
  MemoryTokenBuckets,
  Metrics,
  nestLogger,
  Readiness,
  renderErrorObject,
  requestLimits,
  type TokenBuckets,
} from '@certwright/service';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DataSource } from 'typeorm';
import { AppModule as CertsModule } from '../../../apps/certs-v2/src/app.module';
import { LookLimit } from '../../../apps/certs-v2/src/cert-objects/look-limit';
import { certsSettings } from '../../../apps/certs-v2/src/config';
import { TestLimit } from '../../../apps/certs-v2/src/installation-test/test-limit';
import { PendingInstances } from '../../../apps/certs-v2/src/instances/pending-instances';
import { jsonContentType } from '../../../apps/certs-v2/src/wire/answer';
import { renderProblem } from '../../../apps/certs-v2/src/wire/problem';
import { AppModule as WorkerModule } from '../../../apps/issuance-worker/src/app.module';
import { settings as workerSettings } from '../../../apps/issuance-worker/src/config';
import { AppModule as NotifierModule } from '../../../apps/notifier/src/app.module';
import { settings as notifierSettings } from '../../../apps/notifier/src/config';
import { AppModule as OrdersModule } from '../../../apps/orders-v3/src/app.module';
import { ordersSettings } from '../../../apps/orders-v3/src/config';
import { DnsGateway } from '../../../apps/orders-v3/src/dns-integrations/dns-gateway';
import { makeBreakable } from '../faults/broken-connections';

/** The simulated processes of the platform, in one process and without their timers. */
export interface Processes {
  readonly orders: NestFastifyApplication;
  readonly certs: NestFastifyApplication;
  readonly worker: INestApplicationContext;
  readonly notifier: INestApplicationContext;
  readonly notifierConfig: ReturnType<typeof notifierSettings.read>;
  close(): Promise<void>;
}

export const publicationUrl = 'http://ca.example.net/ca';

/** @param urlOf a migrated database as the role of a process; faults can be injected into every connection of the platform */
export async function openProcesses(urlOf: (process: string) => string): Promise<Processes> {
  const sealingKeys = randomBytes(32).toString('base64');
  const common = (process: string) => ({
    DATABASE_URL: urlOf(process),
    CERTWRIGHT_MODE: 'production',
    REDIS_URL: 'redis://127.0.0.1:1',
    LOG_LEVEL: 'silent',
    SEALING_KEYS: sealingKeys,
    READS_PER_S: '100000',
    WRITES_PER_S: '100000',
    SETTLING_MS: '0',
  });
  const worker = await context(
    WorkerModule.of(
      workerSettings.read({
        ...common('issuance-worker'),
        BUILT_IN_CA: 'true',
        DNS_RESOLVER: '127.0.0.1:53',
        APPROVAL_ZONE: 'approve.example.net',
        CA_PUBLICATION_URL: publicationUrl,
      }),
    ),
  );
  const database = worker.get(DataSource);
  await claimDeployment(database, 'production');
  const notifierConfig = notifierSettings.read({
    ...common('notifier'),
    SMTP_URL: 'smtp://127.0.0.1:1',
    SMTP_REQUIRE_TLS: 'false',
    SMTP_FROM: 'Certwright <certwright@example.net>',
    APPROVAL_URL: 'http://approve.example.net',
  });
  const notifier = await context(NotifierModule.of(notifierConfig));
  const orders = await openOrders(ordersSettings.read(common('orders-v3')));
  const certs = await openCerts(certsSettings.read(common('certs-v2')));
  const all = [worker, notifier, orders, certs];
  for (const process of all) makeBreakable(process.get(DataSource));
  const close = async () => {
    for (const process of all) await process.close();
  };
  return { orders, certs, worker, notifier, notifierConfig, close };
}

/** Newest log lines with errors. */
const maxLines = 20;
const errorLines: string[] = [];
const errorLog = createLogger('simulate', 'error', {
  write: (line) => void (errorLines.push(line), errorLines.splice(0, errorLines.length - maxLines)),
});

/** The last errors that the platform logged, for failures of the simulation itself. */
export const lastErrors = (): readonly string[] => errorLines;

async function context(
  module: Parameters<typeof NestFactory.createApplicationContext>[0],
): Promise<INestApplicationContext> {
  return await NestFactory.createApplicationContext(module, {
    logger: nestLogger(errorLog),
    abortOnError: false,
  });
}

async function openOrders(config: ReturnType<typeof ordersSettings.read>): Promise<NestFastifyApplication> {
  const app: NestFastifyApplication = await createHttpApp(
    OrdersModule.forRoot(config, new DnsGateway(null)),
    {
      ...served('orders-v3', () => app, requestLimits(config)),
      renderProblem: renderErrorObject,
      toProblem: databaseOutage,
    },
  );
  return await ready(app);
}

async function openCerts(config: ReturnType<typeof certsSettings.read>): Promise<NestFastifyApplication> {
  const buckets = new MemoryTokenBuckets();
  const surroundings = [
    { provide: ProbeQuestions, useValue: { ask: () => Promise.resolve(noProbeAnswer) } },
    { provide: LookLimit, useValue: new LookLimit(buckets) },
    { provide: TestLimit, useValue: new TestLimit(buckets, config.INSTALLATION_TESTS_PER_MIN) },
    { provide: IssuanceNews, useValue: { publish: () => undefined } },
    { provide: PendingInstances, useValue: null },
  ];
  const app: NestFastifyApplication = await createHttpApp(CertsModule.forRoot(config, surroundings), {
    ...served('certs-v2', () => app, requestLimits(config)),
    renderProblem,
    toProblem: databaseOutage,
    jsonContentType,
    acceptForms: true,
  });
  return await ready(app);
}

/** No rate limits: a simulated user sends all requests of a simulated hour at once. */
const unlimited: TokenBuckets = { take: async () => await Promise.resolve({ ok: true }) };

function served(name: string, app: () => NestFastifyApplication, limits: ReturnType<typeof requestLimits>) {
  const keys = new ApiKeyCache({ find: async (secretSha256) => await app().get(ApiKeys).find(secretSha256) });
  return {
    log: errorLog,
    metrics: new Metrics(name),
    readiness: new Readiness(),
    authenticator: new Authenticator(keys, unlimited, limits),
  };
}

async function ready(app: NestFastifyApplication): Promise<NestFastifyApplication> {
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  return app;
}
