import { randomBytes } from 'node:crypto';
import { JobProcessors, JobQueues } from '@certwright/bullmq';
import { databaseOutage } from '@certwright/errors';
import { noProbeAnswer } from '@certwright/jobs';
import { ApiKeys } from '@certwright/accounts';
import { IssuanceNews, ProbeQuestions } from '@certwright/redis';
import {
  ApiKeyCache,
  Authenticator,
  createHttpApp,
  createLogger,
  MemoryTokenBuckets,
  Metrics,
  nestLogger,
  type ProcessConfig,
  ProcessModule,
  Readiness,
  renderErrorObject,
  requestLimits,
  type RunningProcess,
  type TokenBuckets,
} from '@certwright/service';
import type { INestApplicationContext, InjectionToken, Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import { AppModule as CertsModule } from '../../../apps/certs-v2/src/app.module';
import { LookLimit } from '../../../apps/certs-v2/src/cert-objects/look-limit';
import { certsSettings } from '../../../apps/certs-v2/src/config';
import { TestLimit } from '../../../apps/certs-v2/src/installation-test/test-limit';
import { PendingInstances } from '../../../apps/certs-v2/src/instances/pending-instances';
import { jsonContentType } from '../../../apps/certs-v2/src/wire/answer';
import { renderProblem } from '../../../apps/certs-v2/src/wire/problem';
import { AppModule as WorkerModule } from '../../../apps/issuance-worker/src/app.module';
import { Approvers } from '../../../apps/issuance-worker/src/approvals/approvals.module';
import type { Approver } from '../../../apps/issuance-worker/src/approvals/approver';
import { AuthoritiesInOrder } from '../../../apps/issuance-worker/src/certificate-authorities/authorities-in-order';
import { BuiltInCa } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/built-in-ca';
import { Config as WorkerConfig, settings as workerSettings } from '../../../apps/issuance-worker/src/config';
import { AppModule as NotifierModule } from '../../../apps/notifier/src/app.module';
import { Config as NotifierConfig, settings as notifierSettings } from '../../../apps/notifier/src/config';
import { SmtpClient } from '../../../apps/notifier/src/mail/smtp.client';
import { PostClient } from '../../../apps/notifier/src/webhooks/post.client';
import { AppModule as OrdersModule } from '../../../apps/orders-v3/src/app.module';
import { ordersSettings } from '../../../apps/orders-v3/src/config';
import { DnsGateway } from '../../../apps/orders-v3/src/dns-integrations/dns-gateway';
import { makeBreakable } from '../faults/broken-connections';
import type { FaultyAuthority } from '../world/faulty-authority';
import type { MailServer } from '../world/mail-server';
import type { WebhookReceivers } from '../world/webhook-receivers';

/** What replaces the outside world of the processes; every member is set before the clock runs. */
export interface Outside {
  queues?: Pick<JobQueues, 'addAll' | 'waiting'>;
  authority?: FaultyAuthority;
  approver?: Approver;
  mailServer?: MailServer;
  receivers?: WebhookReceivers;
}

/** The simulated processes of the platform, in one process and without their timers. */
export interface Processes {
  readonly orders: NestFastifyApplication;
  readonly certs: NestFastifyApplication;
  readonly worker: INestApplicationContext;
  readonly notifier: INestApplicationContext;
  close(): Promise<void>;
}

export const publicationUrl = 'http://ca.example.net/ca';

/** @param urlOf a migrated database as the role of a process; faults can be injected into every connection of the platform */
export async function openProcesses(
  urlOf: (process: string) => string,
  outside: Outside,
): Promise<Processes> {
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
  const workerConfig = workerSettings.read({
    ...common('issuance-worker'),
    BUILT_IN_CA: 'true',
    DNS_RESOLVER: '127.0.0.1:53',
    APPROVAL_ZONE: 'approve.example.net',
    CA_PUBLICATION_URL: publicationUrl,
  });
  const queues = late(() => outside.queues);
  const authority = late(() => outside.authority);
  const worker = await modules(WorkerModule, WorkerConfig, workerConfig, [
    [JobQueues, queues],
    [ProbeQuestions, {}],
    [IssuanceNews, { publish: () => undefined }],
    [Approvers, [late(() => outside.approver)]],
    [AuthoritiesInOrder, authority],
    // Its lists are published by whatever renews them.
    [BuiltInCa, authority],
  ]);
  const notifierConfig = notifierSettings.read({
    ...common('notifier'),
    SMTP_URL: 'smtp://127.0.0.1:1',
    SMTP_REQUIRE_TLS: 'false',
    SMTP_FROM: 'Certwright <certwright@example.net>',
    APPROVAL_URL: 'http://approve.example.net',
  });
  const notifier = await modules(NotifierModule, NotifierConfig, notifierConfig, [
    [JobQueues, queues],
    [SmtpClient, late(() => outside.mailServer)],
    [PostClient, late(() => outside.receivers)],
  ]);
  const orders = await openOrders(ordersSettings.read(common('orders-v3')));
  const certs = await openCerts(certsSettings.read(common('certs-v2')));
  const all = [worker, notifier, orders, certs];
  for (const process of all) makeBreakable(process.get(DataSource));
  // Jitter would make two runs of one seed differ. Nest draws the ids of modules, so only now.
  const { random } = Math;
  Math.random = () => 0.5;
  const close = async () => {
    Math.random = random;
    for (const process of all) await process.close();
  };
  return { orders, certs, worker, notifier, close };
}

/** Newest log lines with errors. */
const maxLines = 20;
const errorLines: string[] = [];
const errorLog = createLogger('simulate', 'error', {
  write: (line) => void (errorLines.push(line), errorLines.splice(0, errorLines.length - maxLines)),
});

/** The last errors that the platform logged, for failures of the simulation itself. */
export const lastErrors = (): readonly string[] => errorLines;

/** A placeholder for an object that is set later, before its first use. */
function late<T extends object>(find: () => T | undefined): T {
  return new Proxy({} as T, {
    get: (_, member) => {
      const found = find();
      const value: unknown = found === undefined ? undefined : Reflect.get(found, member, found);
      return typeof value === 'function' ? (value.bind(found) as unknown) : value;
    },
  });
}

/** The modules of a process, initialized, with some providers replaced; it runs no job and no round by itself. */
async function modules(
  app: Type,
  token: symbol,
  config: ProcessConfig,
  replaced: readonly (readonly [InjectionToken, object])[],
): Promise<INestApplicationContext> {
  const running: RunningProcess = {
    name: app.name,
    log: errorLog,
    metrics: new Metrics(app.name),
    readiness: new Readiness(),
    opened: () => undefined,
  };
  const builder = Test.createTestingModule({ imports: [ProcessModule.forRoot(token, config, running), app] });
  for (const [provider, value] of [...replaced, [JobProcessors, {}] as const])
    builder.overrideProvider(provider).useValue(value);
  return await (await builder.setLogger(nestLogger(errorLog)).compile()).init();
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
