import { randomInt } from 'node:crypto';
import { JobQueues } from '@certwright/bullmq';
import { Outbox, OutboxWrites } from '@certwright/core-schema';
import { Attachments, LeasedIssuances, OrderingModule, WaitingIssuances } from '@certwright/ordering';
import { IssuanceNews, OutboxNews, OutboxNewsListener } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { Rounds, RunningProcess } from '@certwright/service';
import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import type { Approver } from '../approvals/approver';
import { approvalReuseMs } from '../approvals/approvers';
import { Approvers, NameApprovalsModule } from '../approvals/approvals.module';
import { PublishApprovals } from '../approvals/publish-approvals';
import { AcmeServers } from '../certificate-authorities/acme/acme-servers';
import { AuthoritiesInOrder } from '../certificate-authorities/authorities-in-order';
import { CertificateAuthorities } from '../certificate-authorities/certificate-authorities';
import { CertificateAuthoritiesModule } from '../certificate-authorities/certificate-authorities.module';
import { AuthorityHealth } from '../certificate-authorities/health/authority-health';
import { WatchAuthorities } from '../certificate-authorities/health/watch-authorities';
import { Config } from '../config';
import { AdvanceIssuance } from './advance-issuance';
import type { IssuanceEvents } from './issuance-events';
import { IssuanceHoldWatch } from './issuance-hold';
import { IssuanceStatisticsReader } from './issuance-statistics';
import { IssuanceProcessor } from './issuance.processor';
import { observeIssuances } from './observe-issuances';
import { PausableRuns } from './pausable-runs';
import { Relay } from '../wake-ups/relay';

const events = Symbol('IssuanceEvents');

/** Certificate ids: positive, random, and exact as a JSON number. */
const certificateId = (): string => String(randomInt(1, 2 ** 48 - 1));

/** Probes whether ACME CAs are up again; absent without ACME CAs. */
@Injectable()
class AuthorityWatch implements OnModuleInit {
  constructor(
    private readonly rounds: Rounds,
    @Inject(WatchAuthorities) private readonly watch: WatchAuthorities | null,
  ) {}

  onModuleInit(): void {
    if (this.watch !== null) this.rounds.add('authorities', this.watch.round);
  }
}

/** Advances issuances from their opening to an attached certificate. */
@Module({
  imports: [CertificateAuthoritiesModule, NameApprovalsModule, OrderingModule],
  providers: [
    AuthorityWatch,
    IssuanceHoldWatch,
    IssuanceProcessor,
    IssuanceStatisticsReader,
    Relay,
    {
      provide: PausableRuns,
      inject: [Config, RunningProcess],
      useFactory: ({ JOB_CONCURRENCY }: Config, { log }: RunningProcess) =>
        new PausableRuns(JOB_CONCURRENCY, (error) =>
          log.error({ err: error }, 'issuance run failed; retried from its row'),
        ),
    },
    {
      provide: IssuanceNews,
      inject: [RedisAccess, RunningProcess],
      useFactory: (redis: RedisAccess, { name, log }: RunningProcess) =>
        new IssuanceNews(redis, { name: `${name}-news`, log }),
    },
    {
      provide: OutboxNews,
      inject: [RedisAccess, OutboxWrites, RunningProcess],
      useFactory: (redis: RedisAccess, writes: OutboxWrites, running: RunningProcess) =>
        new OutboxNews(redis, writes, running),
    },
    {
      provide: OutboxNewsListener,
      inject: [RedisAccess, RunningProcess],
      useFactory: (redis: RedisAccess, running: RunningProcess) => new OutboxNewsListener(redis, running),
    },
    {
      provide: events,
      inject: [RunningProcess, IssuanceStatisticsReader, Outbox, JobQueues, IssuanceNews],
      useFactory: (
        running: RunningProcess,
        statistics: IssuanceStatisticsReader,
        outbox: Outbox,
        jobs: JobQueues,
        news: IssuanceNews,
      ) => observeIssuances(running, { statistics, outbox, jobs }, news),
    },
    {
      provide: AdvanceIssuance,
      inject: [Config, LeasedIssuances, Attachments, Approvers, PublishApprovals, AuthoritiesInOrder, events],
      useFactory: (
        config: Config,
        leasedIssuances: LeasedIssuances,
        attachments: Attachments,
        approvers: readonly Approver[],
        publishing: PublishApprovals,
        issuers: AuthoritiesInOrder,
        observed: IssuanceEvents,
      ) =>
        new AdvanceIssuance({
          leasedIssuances,
          attachments,
          approvers,
          publishing,
          approvalReuseMs: approvalReuseMs(config),
          issuers,
          events: observed,
          certificateId,
        }),
    },
    {
      provide: WatchAuthorities,
      inject: [
        AuthorityHealth,
        WaitingIssuances,
        CertificateAuthorities,
        AcmeServers,
        AdvanceIssuance,
        RunningProcess,
      ],
      useFactory: (
        health: AuthorityHealth,
        waiting: WaitingIssuances,
        authorities: CertificateAuthorities,
        servers: AcmeServers | null,
        advance: AdvanceIssuance,
        { log }: RunningProcess,
      ) =>
        servers &&
        new WatchAuthorities({
          health,
          waiting,
          authorities,
          probe: async (authority) => await servers.of(authority).probe(),
          now: servers.now,
          attempt: async (issuanceId, trial) => await advance.run(issuanceId, trial),
          onError: (authority, error) =>
            log.warn({ authority, err: error }, 'probe of a CA failed unexpectedly; retrying'),
        }),
    },
  ],
})
export class IssuanceModule {}
