import { Challenges, ApprovalsModule } from '@certwright/approvals';
import { DnsIntegrationsModule, LeasedIntegrations } from '@certwright/dns-integrations';
import { GatewayClient } from '@certwright/gateway-client';
import { RedisAccess } from '@certwright/redis-client';
import type { SealingKeys } from '@certwright/sealing';
import { type RoundOfWork, Rounds, RunningProcess } from '@certwright/service';
import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { defaultRepeats } from '../../acme';
import { CaLimitBuckets } from '../../ca-limits/ca-limit-buckets';
import { type OpenChallenges, openChallenges } from '../../challenges/open-challenges';
import { Config } from '../../config';
import { DnsServers } from '@certwright/dns-lookup';
import { GatewayModule } from '../../gateway/gateway.module';
import { HostedChallengeRecords } from '../../integrations/hosted-challenge-records';
import { NameServers } from '../../name-servers/name-servers';
import { NameServersModule } from '../../name-servers/name-servers.module';
import { preflight } from '../../preflight/preflight';
import { CaAccounts } from '../ca-accounts';
import { CertificateAuthorities } from '../certificate-authorities';
import { AuthorityHealth } from '../health/authority-health';
import { pollRenewalInfos } from '../renewal-info/poll-renewal-infos';
import { RenewalInfos } from '../renewal-info/renewal-infos';
import { AcmeAccounts } from './acme-accounts';
import { AcmeAuthority } from './acme-authority';
import { AcmeOrders } from './acme-orders';
import { AcmeServers, maxSlowOf } from './acme-servers';
import { changeAccountKeys, keepContacts } from './keep-accounts';
import { type AcmeEvents, observeAcme } from './observe-acme';
import { PersistentRecords } from './persistent-records';

/** In a sandbox the built-in CA issues everything, unless SANDBOX_AUTHORITIES is set. */
export const isBuiltInAlone = ({ CERTWRIGHT_MODE, SANDBOX_AUTHORITIES }: Config): boolean =>
  CERTWRIGHT_MODE === 'sandbox' && !SANDBOX_AUTHORITIES;

/** Keys that seal our account keys; null: ACME is not used, and this module's providers are null. */
const keysOf = (config: Config): SealingKeys | null =>
  isBuiltInAlone(config) ? null : config.CA_ACCOUNT_KEYS;

const events = Symbol('AcmeEvents');
const challenges = Symbol('OpenChallenges');
const acmeRounds = Symbol('AcmeRounds');

/** Interval at which obsolete rows of challenges and limits are deleted, ms. */
const forgetEveryMs = 10 * 60_000;

/** Runs the periodic jobs about CAs. */
@Injectable()
class AcmeRounds implements OnModuleInit {
  constructor(
    private readonly rounds: Rounds,
    @Inject(acmeRounds) private readonly own: Readonly<Record<string, RoundOfWork>>,
  ) {}

  onModuleInit(): void {
    for (const [name, round] of Object.entries(this.own)) this.rounds.add(name, round);
  }
}

/** ACME CAs, with our accounts and orders there. */
@Module({
  imports: [ApprovalsModule, DnsIntegrationsModule, GatewayModule, NameServersModule],
  providers: [
    AcmeOrders,
    AcmeRounds,
    CaAccounts,
    CaLimitBuckets,
    CertificateAuthorities,
    HostedChallengeRecords,
    RenewalInfos,
    {
      provide: events,
      inject: [Config, RunningProcess, CertificateAuthorities],
      useFactory: (config: Config, running: RunningProcess, stored: CertificateAuthorities) =>
        keysOf(config) && observeAcme(running, stored),
    },
    {
      provide: AuthorityHealth,
      inject: [CertificateAuthorities, events],
      useFactory: (stored: CertificateAuthorities, observed: AcmeEvents | null) =>
        observed && new AuthorityHealth(stored, observed),
    },
    {
      provide: AcmeServers,
      inject: [Config, RunningProcess, events, AuthorityHealth],
      useFactory: (
        { ACME_USER_AGENT, ACME_ANSWER_TIMEOUT, JOB_CONCURRENCY }: Config,
        { opened }: RunningProcess,
        observed: AcmeEvents | null,
        health: AuthorityHealth,
      ) => {
        if (observed === null) return null;
        const observerOf: ConstructorParameters<typeof AcmeServers>[1] = (authority) => {
          const observer = observed.observerOf(authority);
          return (exchange) => {
            observer(exchange);
            health.observe(authority, exchange);
          };
        };
        const servers = new AcmeServers(ACME_USER_AGENT, observerOf, ACME_ANSWER_TIMEOUT, JOB_CONCURRENCY);
        opened('certificate authorities', async () => await servers.close());
        return servers;
      },
    },
    {
      provide: AcmeAccounts,
      inject: [Config, CertificateAuthorities, CaAccounts, AcmeServers, events],
      useFactory: (
        config: Config,
        authorities: CertificateAuthorities,
        accounts: CaAccounts,
        servers: AcmeServers,
        observed: AcmeEvents,
      ) => {
        const keys = keysOf(config);
        return keys && new AcmeAccounts({ authorities, accounts, servers, keys, events: observed });
      },
    },
    {
      provide: challenges,
      inject: [
        Config,
        RunningProcess,
        Challenges,
        HostedChallengeRecords,
        LeasedIntegrations,
        DnsServers,
        NameServers,
        GatewayClient,
        RedisAccess,
      ],
      useFactory: (
        config: Config,
        running: RunningProcess,
        stored: Challenges,
        hosted: HostedChallengeRecords,
        integrations: LeasedIntegrations,
        { lookUp }: DnsServers,
        nameServers: NameServers,
        gateway: GatewayClient | null,
        redis: RedisAccess,
      ) => {
        if (keysOf(config) === null) return null;
        return openChallenges(config, running, {
          stored,
          hosted,
          integrations,
          lookUp,
          nameServers,
          gateway,
          redis,
        });
      },
    },
    {
      provide: AcmeAuthority,
      inject: [
        Config,
        AcmeOrders,
        challenges,
        AcmeAccounts,
        AcmeServers,
        AuthorityHealth,
        CaLimitBuckets,
        DnsServers,
        events,
      ],
      useFactory: (
        config: Config,
        orders: AcmeOrders,
        opened: OpenChallenges | null,
        accounts: AcmeAccounts,
        servers: AcmeServers,
        health: AuthorityHealth,
        buckets: CaLimitBuckets,
        { lookUp }: DnsServers,
        observed: AcmeEvents,
      ) =>
        opened &&
        new AcmeAuthority({
          orders,
          challenges: opened.publisher,
          persistent: config.DNS_PERSIST ? new PersistentRecords(lookUp) : null,
          accounts,
          servers,
          health,
          maxSlow: maxSlowOf(config.JOB_CONCURRENCY),
          repeats: defaultRepeats,
          buckets,
          preflight: async (question) =>
            await preflight(question, { lookUp, buckets, onVerdict: observed.onVerdict }),
        }),
    },
    {
      provide: acmeRounds,
      inject: [
        challenges,
        CaAccounts,
        CertificateAuthorities,
        AcmeAccounts,
        AcmeServers,
        events,
        RenewalInfos,
        Challenges,
        CaLimitBuckets,
        RunningProcess,
      ],
      useFactory: (
        opened: OpenChallenges | null,
        accounts: CaAccounts,
        authorities: CertificateAuthorities,
        sessions: AcmeAccounts,
        servers: AcmeServers,
        observed: AcmeEvents,
        infos: RenewalInfos,
        stored: Challenges,
        buckets: CaLimitBuckets,
        running: RunningProcess,
      ): Readonly<Record<string, RoundOfWork>> => {
        if (opened === null) return {};
        const keeping = { accounts, authorities, sessions, servers, events: observed };
        return {
          ...opened.rounds,
          accountKeys: changeAccountKeys(keeping),
          accountContacts: keepContacts(keeping),
          renewalInfos: pollRenewalInfos({
            infos,
            authorities,
            servers,
            random: () => Math.random(),
            events: renewalEvents(running),
          }),
          challenges: async () => {
            await stored.forgetExpired();
            await buckets.forgetFull();
            return forgetEveryMs;
          },
        };
      },
    },
  ],
  exports: [AcmeAuthority, AcmeServers, AuthorityHealth, CertificateAuthorities],
})
export class AcmeModule {}

function renewalEvents({ log }: RunningProcess): Parameters<typeof pollRenewalInfos>[0]['events'] {
  type WindowEvent = Parameters<typeof pollRenewalInfos>[0]['events']['windowMoved'];
  const membersOf = (...[info, { window, explanationUrl }, renewAt]: Parameters<WindowEvent>) => {
    const { certificateId: certificate, planId: plan, authority } = info;
    return { certificate, plan, authority, ...window, explanationUrl, renewAt };
  };
  return {
    windowMoved: (...event) => {
      log.info(membersOf(...event), 'a CA moved the renewal window of a certificate');
    },
    windowTooEarly: (...event) => {
      log.warn(membersOf(...event), 'the first renewal window of a certificate is too early; not followed');
    },
    failed: ({ certificateId, authority }, error) => {
      log.warn({ certificate: certificateId, authority, err: error }, 'no renewal information; retrying');
    },
  };
}
