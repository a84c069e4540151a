import { randomInt } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { JobQueues, runJobs } from '@certwright/bullmq';
import { AddressGuard } from '@certwright/outbound';
import { claimDeployment, Outbox, coreSchema } from '@certwright/core-schema';
import { ApprovalRecords } from '@certwright/approvals';
import { Attachments, LeasedIssuances } from '@certwright/ordering';
import { CaIssuers } from './certificate-authorities/built-in/ca-issuers';
import { CaSignings } from './certificate-authorities/built-in/ca-signings';
import { ExpirationNotices } from './notices/expiration-notices';
import { PendingRevocations } from './revocations/pending-revocations';
import { Renewals } from './renewals/renewals.repository';
import { RevocationLists } from './certificate-authorities/built-in/revocation-lists';
import { warnOfExcessPrivileges } from '@certwright/postgres';
import { IssuanceNews, ProbeQuestions } from '@certwright/redis';
import { nestLogger, repeat, type RunningProcess } from '@certwright/service';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { AppModule } from './app.module';
import { approvalReuseMs, approversOf, forgetExpiredApprovals } from './approvals/approvers';
import { PublishApprovals } from './approvals/publish-approvals';
import { BuiltInCa } from './certificate-authorities/built-in/built-in-ca';
import { KeyFiles } from './certificate-authorities/built-in/key-files';
import { submitToLogs } from './log-submissions/submit-to-logs';
import { NameServers } from './name-servers/name-servers';
import { openAuthorities } from './certificate-authorities/open-authorities';
import type { Config } from './config';
import { DnsClient } from './dns-lookup/dns-client';
import { housekeeping } from './housekeeping/housekeeping';
import { gatewayOf } from './integrations/gateway';
import { serveIntegrations } from './integrations/serve-integrations';
import { AdvanceIssuance } from './issuance/advance-issuance';
import { observeIssuances } from './issuance/observe-issuances';
import { noticeOnce } from './notices/notices';
import { relayOnce } from './nudges/relay';
import { sweepOnce } from './nudges/sweep';
import { observeRenewals } from './renewals/observe-renewals';
import { renewOnce } from './renewals/renewals';
import { runRevocations } from './revocations/run-revocations';
import { sweepRevocations } from './revocations/sweep-revocations';

/** Certificate ids: positive, random, and exact as a JSON number. */
const certificateIds = { least: 1, below: 2 ** 48 - 1 };

/** After a round that failed: the database or Redis is away, and asking a little later is soon enough. */
const afterErrorMs = 1_000;

export async function start(config: Config, running: RunningProcess): Promise<void> {
  const { log, readiness } = running;
  const context = await openDatabase(config, running);
  const builtInCa = await openBuiltInCa(config, context);
  const jobs = new JobQueues(config.REDIS_URL, (error) => log.warn({ err: error }, 'redis'));
  running.opened('redis', async () => await jobs.close());
  readiness.add('redis', async () => await jobs.checkWrites());
  const resolver = await addressOf(config.DNS_RESOLVER);
  const dns = new DnsClient({ server: resolver });
  running.opened('resolver', () => dns.close());
  const probes = new ProbeQuestions(config.REDIS_URL, { name: 'issuance-worker-probes', log });
  running.opened('probes', async () => await probes.close());
  const news = new IssuanceNews(config.REDIS_URL, { name: 'issuance-worker-news', log });
  running.opened('news', async () => await news.close());
  const gateway = gatewayOf(config);
  running.opened('gateway', () => gateway?.close());
  const nameServers = new NameServers({
    lookUp: dns.lookUp,
    guard: new AddressGuard({ allowedNetworks: config.ALLOWED_NETWORKS, resolvers: [resolver] }),
    port: config.AUTHORITY_DNS_PORT,
  });
  const authorities = openAuthorities(config, running, context, {
    builtInCa,
    lookUp: dns.lookUp,
    responders: await Promise.all(config.APPROVAL_RESPONDERS.map(addressOf)),
    gateway,
    nameServers,
  });

  const advance = new AdvanceIssuance({
    leasedIssuances: context.get(LeasedIssuances),
    attachments: context.get(Attachments),
    approvers: approversOf(
      config,
      context,
      { lookUp: dns.lookUp, nameServers },
      async (question) => await probes.ask(question, config.PROBE_TIMEOUT),
    ),
    publishing: new PublishApprovals(context.get(ApprovalRecords), config.APPROVAL_ZONE, gateway !== null),
    approvalReuseMs: approvalReuseMs(config),
    issuers: authorities.issuers,
    events: observeIssuances(running, context, jobs, news),
    certificateId: () => String(randomInt(certificateIds.least, certificateIds.below)),
  });
  const runner = runJobs(
    config.REDIS_URL,
    'issuance',
    { 'advance-issuance': async ({ issuanceId }) => await advance.run(issuanceId) },
    {
      failed: (job, error) => log.error({ job, err: error }, 'job failed; its row brings it back'),
      error: (error) => log.warn({ err: error }, 'redis'),
    },
    config.JOB_CONCURRENCY,
  );
  running.opened('jobs', async () => await runner.close());
  runRevocations(config.REDIS_URL, running, context, authorities.issuers);

  const outbox = context.get(Outbox);
  const issuances = context.get(LeasedIssuances);
  const renewalEvents = observeRenewals(running);
  const watch = authorities.watch(async (issuanceId, trial) => await advance.run(issuanceId, trial));
  const rounds = {
    relay: async () => await relayOnce(outbox, jobs),
    sweep: async () => await sweepOnce(issuances, jobs),
    renewals: async () => await renewOnce(context.get(Renewals), renewalEvents),
    notices: async () => await noticeOnce(context.get(ExpirationNotices)),
    revocations: sweepRevocations(context.get(PendingRevocations), jobs),
    ...housekeeping(context, builtInCa),
    ...(builtInCa === null ? {} : submitToLogs(config, running, context)),
    ...authorities.rounds,
    ...(watch === null ? {} : { authorities: watch }),
    approvals: forgetExpiredApprovals(context),
    ...(gateway === null ? {} : serveIntegrations(config, running, context, { gateway, jobs, nameServers })),
  };
  for (const [name, round] of Object.entries(rounds)) {
    const onError = (error: unknown) => log.warn({ round: name, err: error }, 'round failed; it is repeated');
    const repeating = repeat(round, { afterErrorMs, onError });
    running.opened(name, async () => await repeating.stop());
  }
}

/** A resolver that is given by name (a service of the cluster) is looked up once, by the system's own means. */
async function addressOf({ host, port }: Config['DNS_RESOLVER']): Promise<Config['DNS_RESOLVER']> {
  const { address } = await lookup(host);
  return { host: address, port };
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
  await claimDeployment(database, config.CERTWRIGHT_MODE);
  await warnOfExcessPrivileges(database, coreSchema, 'issuance-worker', log);
  return context;
}

async function openBuiltInCa(config: Config, context: INestApplicationContext): Promise<BuiltInCa | null> {
  if (config.CERTWRIGHT_MODE === 'production' && !config.BUILT_IN_CA) return null;
  return await BuiltInCa.open(
    { name: config.BUILT_IN_CA_NAME, publicationUrl: config.CA_PUBLICATION_URL },
    new KeyFiles(config.BUILT_IN_CA_DIR),
    context.get(CaIssuers),
    context.get(CaSignings),
    context.get(RevocationLists),
  );
}
