import { randomBytes } from 'node:crypto';
import { JobQueues, runJobs, type RunningJobs } from '@certwright/bullmq';
import { deliverWebhook, sendMail } from '@certwright/jobs';
import { AddressGuard } from '@certwright/outbound';
import {
  EmailApprovals,
  LeasedDeliveries,
  LeasedMails,
  Mails,
  MailSubjects,
  WebhookDeliveries,
} from '@certwright/persistence';
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
import { observeMails, observeWebhooks } from './observe';
import { deliveryBounds } from './webhooks/bounds';
import { DeliverWebhook } from './webhooks/deliver-webhook';
import { FailingPlaces } from './webhooks/failing-places';
import { postThrough } from './webhooks/post.client';

/** After a round that failed: the database or Redis is away, and asking a little later is soon enough. */
const afterErrorMs = 1_000;

/** Mails that one round of the sweep nudges: oldest first, so the next round goes on with the rest. */
const mailBatch = 200;

export async function start(config: Config, running: RunningProcess): Promise<void> {
  const { log, readiness } = running;
  const context = await openDatabase(config, running);
  const queues = new JobQueues(config.REDIS_URL, (error) => log.warn({ err: error }, 'redis'));
  running.opened('redis', async () => await queues.close());
  readiness.add('redis', async () => await queues.ping());

  const stopping = new AbortController();
  const deliver = webhooks(config, running, context, stopping.signal);
  const mail = mails(config, running, context, stopping.signal);
  const events = {
    failed: (job: string, error: Error) =>
      log.error({ job, err: error }, 'job failed; its row brings it back'),
    error: (error: Error) => log.warn({ err: error }, 'redis'),
  };
  const runners = [
    runJobs(
      config.REDIS_URL,
      'webhooks',
      { 'deliver-webhook': async ({ deliveryId }) => await deliver.run(deliveryId) },
      events,
      config.DELIVERY_CONCURRENCY,
    ),
    runJobs(config.REDIS_URL, 'mail', { 'send-mail': async ({ mailId }) => await mail.run(mailId) }, events),
  ];
  running.opened('jobs', async () => await drain(runners, stopping, config.DRAIN_TIME));
  startRounds(config, running, context, queues);
}

function webhooks(
  config: Config,
  running: RunningProcess,
  context: INestApplicationContext,
  stopping: AbortSignal,
): DeliverWebhook {
  const deliveries = context.get(LeasedDeliveries);
  const guard = new AddressGuard({
    allowedNetworks: config.ALLOWED_NETWORKS,
    resolvers: config.DNS_RESOLVERS,
  });
  return new DeliverWebhook({
    deliveries,
    sealing: config.SEALING_KEYS,
    post: postThrough(guard),
    events: observeWebhooks(running, deliveries),
    bounds: deliveryBounds,
    failingPlaces: new FailingPlaces(Math.floor(config.DELIVERY_CONCURRENCY / 2)),
    stopping,
    random: Math.random,
  });
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
  config: Config,
  { log, opened }: RunningProcess,
  context: INestApplicationContext,
  queues: JobQueues,
): void {
  const deliveries = context.get(LeasedDeliveries);
  const leasedMails = context.get(LeasedMails);
  const dueDeliveries = async () => await deliveries.due(config.DELIVERY_CONCURRENCY, deliveryBounds);
  const dueMails = async () => await leasedMails.due(mailBatch);
  const rounds = {
    sweepDeliveries: async () => await sweepOnce(dueDeliveries, deliverWebhook, queues),
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
  runners: readonly RunningJobs[],
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
  return context;
}
