import { randomBytes } from 'node:crypto';
import { JobQueues, runJobs, type RunningJobs } from '@certwright/bullmq';
import { sendMail } from '@certwright/jobs';
import { AddressGuard } from '@certwright/outbound';
import { coreSchema } from '@certwright/core-schema';
import { EmailApprovals } from '@certwright/approvals';
import { LeasedDeliveries } from './webhooks/leased-deliveries';
import { LeasedMails } from './mail/leased-mails';
import { Mails, WebhookDeliveries } from '@certwright/delivery';
import { MailSubjects } from './mail/mail-subjects';
import { warnOfExcessPrivileges } from '@certwright/postgres';
import { nestLogger, repeat, type RunningProcess } from '@certwright/service';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { AppModule } from './app.module';
import { type Config } from './config';
import { housekeeping } from './housekeeping/housekeeping';
import { senderOf } from './mail/mail-address';
import { SendMail } from './mail/send-mail';
import { SmtpClient } from './mail/smtp.client';
import { sweepOnce } from './nudges/sweep';
import { observeLongestWait, observeMails, observeWebhooks } from './observe';
import { deliveryBounds } from './webhooks/bounds';
import { DeliverWebhook } from './webhooks/deliver-webhook';
import { DeliveryDispatcher } from './webhooks/delivery-dispatcher';
import { postThrough } from './webhooks/post.client';

/** After a round that failed: the database or Redis is away, and asking a little later is soon enough. */
const afterErrorMs = 1_000;

/** Between two sweeps, ms: the clock of everything that waits, and the net under every nudge that was lost. */
const sweepEveryMs = 1_000;

/** Mails that one round of the sweep nudges: oldest first, so the next round goes on with the rest. */
const mailBatch = 200;

export async function start(config: Config, running: RunningProcess): Promise<void> {
  const { log, readiness } = running;
  const context = await openDatabase(config, running);
  const queues = new JobQueues(config.REDIS_URL, (error) => log.warn({ err: error }, 'redis'));
  running.opened('redis', async () => await queues.close());
  readiness.add('redis', async () => await queues.checkWrites());

  const stopping = new AbortController();
  const dispatcher = webhooks(config, running, context, stopping.signal);
  const mail = mails(config, running, context, stopping.signal);
  const events = {
    failed: (job: string, error: Error) =>
      log.error({ job, err: error }, 'job failed; its row brings it back'),
    error: (error: Error) => log.warn({ err: error }, 'redis'),
  };
  const nudge = async ({ deliveryId }: { readonly deliveryId: string }) =>
    await Promise.resolve(dispatcher.nudge(deliveryId));
  const runners = [
    runJobs(config.REDIS_URL, 'webhooks', { 'deliver-webhook': nudge }, events),
    runJobs(config.REDIS_URL, 'mail', { 'send-mail': async ({ mailId }) => await mail.run(mailId) }, events),
  ];
  running.opened('jobs', async () => await drain([...runners, dispatcher], stopping, config.DRAIN_TIME));
  startRounds(running, context, queues, dispatcher);
}

function webhooks(
  config: Config,
  running: RunningProcess,
  context: INestApplicationContext,
  stopping: AbortSignal,
): DeliveryDispatcher {
  const deliveries = context.get(LeasedDeliveries);
  const guard = new AddressGuard({
    allowedNetworks: config.ALLOWED_NETWORKS,
    resolvers: config.DNS_RESOLVERS,
  });
  const deliver = new DeliverWebhook({
    deliveries,
    sealing: config.SEALING_KEYS,
    post: postThrough(guard),
    events: observeWebhooks(running),
    stopping,
    random: Math.random,
  });
  const dispatcher = new DeliveryDispatcher({
    deliveries,
    send: async (leased) => await deliver.run(leased),
    bounds: deliveryBounds,
    concurrency: config.DELIVERY_CONCURRENCY,
    onError: (error) => running.log.warn({ err: error }, 'deliveries not leased; retried by the next sweep'),
    nowMs: () => performance.now(),
  });
  observeLongestWait(running, async () => dispatcher.longestWaitS(await deliveries.waiting()));
  return dispatcher;
}

function mails(
  config: Config,
  running: RunningProcess,
  context: INestApplicationContext,
  stopping: AbortSignal,
): SendMail {
  const { SMTP_URL: url, SMTP_REQUIRE_TLS: requireTls, SMTP_USER: user, SMTP_PASSWORD: password } = config;
  const login = user === null || password === null ? null : { user, password: password.reveal() };
  const from = senderOf(config.SMTP_FROM);
  if (from === null) throw new TypeError('SMTP_FROM was not checked when it was read');
  const smtp = new SmtpClient({ url, requireTls, login }, stopping);
  running.opened('smtp', () => smtp.close());
  const leased = context.get(LeasedMails);
  return new SendMail({
    mails: leased,
    smtp,
    subjects: context.get(MailSubjects),
    approvals: context.get(EmailApprovals),
    approvalUrl: config.APPROVAL_URL.replace(/\/+$/, ''),
    tokenBytes: () => randomBytes(20),
    from,
    events: observeMails(running, leased),
    random: Math.random,
  });
}

function startRounds(
  { log, opened }: RunningProcess,
  context: INestApplicationContext,
  queues: JobQueues,
  dispatcher: DeliveryDispatcher,
): void {
  const deliveries = context.get(LeasedDeliveries);
  const leasedMails = context.get(LeasedMails);
  const dueMails = async () => await leasedMails.due(mailBatch);
  const rounds = {
    sweepDeliveries: async () => {
      dispatcher.sweep(await deliveries.waiting());
      return sweepEveryMs;
    },
    sweepMails: async () => await sweepOnce(dueMails, sendMail, queues),
    ...housekeeping(context.get(WebhookDeliveries), context.get(Mails)),
  };
  for (const [name, round] of Object.entries(rounds)) {
    const onError = (error: unknown) => log.warn({ round: name, err: error }, 'round failed; it is repeated');
    const repeating = repeat(round, { afterErrorMs, onError });
    opened(name, async () => await repeating.stop());
  }
}

/** Takes no more jobs; what is under way may finish within the time, then no answer is waited for any more. */
async function drain(
  runners: readonly Pick<RunningJobs, 'close'>[],
  stopping: AbortController,
  drainMs: number,
): Promise<void> {
  const timer = setTimeout(() => stopping.abort(), drainMs);
  await Promise.all(runners.map(async (runner) => await runner.close()));
  clearTimeout(timer);
}

async function openDatabase(
  config: Config,
  { log, readiness, opened }: RunningProcess,
): Promise<INestApplicationContext> {
  const context = await NestFactory.createApplicationContext(AppModule.of(config), {
    logger: nestLogger(log),
    abortOnError: false,
  });
  opened('database', async () => await context.close());
  const database = context.get(DataSource);
  readiness.add('database', async () => await database.query('SELECT 1'));
  await warnOfExcessPrivileges(database, coreSchema, 'notifier', log);
  return context;
}
