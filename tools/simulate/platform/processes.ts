import { randomBytes } from 'node:crypto';
import { createFront, DisabledKeys, type Front, type FrontConfig } from '@certwright/api-front';
import { JobProcessors, JobQueues } from '@certwright/bullmq';
import { noProbeAnswer } from '@certwright/jobs';
import { IssuanceNews, OutboxNews, OutboxNewsListener, ProbeQuestions } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import {
  createLogger,
  FallbackTokenBuckets,
  Metrics,
  nestLogger,
  type ProcessConfig,
  ProcessModule,
  Readiness,
  type RunningProcess,
  type TokenBuckets,
} from '@certwright/service';
import type { DynamicModule, INestApplicationContext, InjectionToken, Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import { certsSettings } from '../../../apps/certs-v2/src/config';
import { front as certsFront } from '../../../apps/certs-v2/src/front';
import { PendingInstances } from '../../../apps/certs-v2/src/instances/pending-instances';
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
import { ordersSettings } from '../../../apps/orders-v3/src/config';
import { front as ordersFront } from '../../../apps/orders-v3/src/front';
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
    DNS_RESOLVER: '127.0.0.1:53',
    APPROVAL_ZONE: 'approve.example.net',
    CA_PUBLICATION_URL: publicationUrl,
  });
  const queues = late(() => outside.queues);
  const authority = late(() => outside.authority);
  const worker = await modules(WorkerModule, WorkerConfig, workerConfig, [
    [RedisAccess, {}],
    [JobQueues, queues],
    [ProbeQuestions, {}],
    [IssuanceNews, { publish: () => undefined }],
    [OutboxNews, {}],
    [OutboxNewsListener, { onNews: () => undefined }],
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
    [RedisAccess, {}],
    [JobQueues, queues],
    [SmtpClient, late(() => outside.mailServer)],
    [PostClient, late(() => outside.receivers)],
  ]);
  const orders = await opened(ordersFront, 'orders-v3', ordersSettings.read(common('orders-v3')));
  const certs = await opened(certsFront, 'certs-v2', certsSettings.read(common('certs-v2')), [
    [ProbeQuestions, { ask: () => Promise.resolve(noProbeAnswer) }],
    [IssuanceNews, { publish: () => undefined }],
    [PendingInstances, {}],
  ]);
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

type Replaced = readonly [InjectionToken, object];

/** The modules of a process, initialized, with some providers replaced; it runs no job and no round by itself. */
async function modules(
  app: Type,
  token: symbol,
  config: ProcessConfig,
  replaced: readonly Replaced[],
): Promise<INestApplicationContext> {
  const root = { module: app, imports: [ProcessModule.forRoot(token, config, runningAs(app.name))] };
  return await (await replacing(root, replaced).compile()).init();
}

function replacing(module: DynamicModule, replaced: readonly Replaced[]): TestingModuleBuilder {
  const builder = Test.createTestingModule({ imports: [module] }).setLogger(nestLogger(errorLog));
  for (const [provider, value] of [...replaced, [JobProcessors, {}] as const])
    builder.overrideProvider(provider).useValue(value);
  return builder;
}

const runningAs = (name: string): RunningProcess => ({
  name,
  log: errorLog,
  metrics: new Metrics(name),
  readiness: new Readiness(),
  opened: () => undefined,
});

/** A front end, initialized, with some providers replaced; it does not listen. */
async function opened(
  front: Front,
  name: string,
  config: FrontConfig,
  replaced: readonly Replaced[] = [],
): Promise<NestFastifyApplication> {
  const all = [
    ...replaced,
    [FallbackTokenBuckets, unlimited],
    [DisabledKeys, {}],
    [OutboxNews, {}],
    [RedisAccess, {}],
  ] as const;
  const app = await createFront(front, config, runningAs(name), async (module, adapter, options) =>
    (await replacing(module as DynamicModule, all).compile()).createNestApplication<NestFastifyApplication>(
      adapter,
      options,
    ),
  );
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  return app;
}

/** No rate limits: a simulated user sends all requests of a simulated hour at once. */
const unlimited: TokenBuckets = { take: async () => await Promise.resolve({ ok: true }) };
