import { AcmeOrders } from './acme/acme-orders';
import { CaAccounts } from './ca-accounts';
import { CaLimitBuckets } from '../ca-limits/ca-limit-buckets';
import { CertificateAuthorities } from './certificate-authorities';
import { Challenges } from '@certwright/approvals';
import { RenewalInfos } from './renewal-info/renewal-infos';
import { WaitingIssuances } from '@certwright/ordering';
import type { RunningProcess } from '@certwright/service';
import type { INestApplicationContext } from '@nestjs/common';
import { type ChallengeSurroundings, openChallenges } from '../challenges/open-challenges';
import { defaultRepeats } from '../acme';
import type { Config } from '../config';
import { preflight } from '../preflight/preflight';
import { askRenewalInfos } from './renewal-info/ask-renewal-infos';
import { AcmeAccounts } from './acme/acme-accounts';
import { AcmeAuthority } from './acme/acme-authority';
import { AcmeServers } from './acme/acme-servers';
import { changeAccountKeys, keepContacts } from './acme/keep-accounts';
import { observeAcme } from './acme/observe-acme';
import { AuthorityHealth } from './health/authority-health';
import { type WatchPorts, WatchAuthorities } from './health/watch-authorities';
import { PersistentRecords } from './acme/persistent-records';
import { AuthoritiesInOrder, type Issuers } from './authorities-in-order';
import type { CertificateAuthority } from './certificate-authority';

export interface AuthoritySurroundings extends ChallengeSurroundings {
  readonly builtInCa: CertificateAuthority | null;
}

export interface OpenAuthorities {
  readonly issuers: Issuers;
  /** What is to be done about CAs by itself; each returns how long to rest, ms. */
  readonly rounds: Readonly<Record<string, () => Promise<number>>>;
  /** Finds out when CAs are up again, by attempts of the kind that is given. @returns a round; null: there is no such CA */
  readonly watch: (attempt: WatchPorts['attempt']) => (() => Promise<number>) | null;
}

/** Rows of challenges and limits that say nothing any more go so often, ms. */
const forgettingRestMs = 10 * 60_000;

/** The CAs of this deployment, put together: the built-in one, and those that speak ACME where there are keys for accounts. */
export function openAuthorities(
  config: Config,
  running: RunningProcess,
  context: INestApplicationContext,
  surroundings: AuthoritySurroundings,
): OpenAuthorities {
  const { builtInCa: builtIn } = surroundings;
  const stored = context.get(CertificateAuthorities);
  const builtInAlone = config.CERTWRIGHT_MODE === 'sandbox' && !config.SANDBOX_AUTHORITIES;
  const keys = config.CA_ACCOUNT_KEYS;
  if (keys === null || builtInAlone)
    return {
      issuers: new AuthoritiesInOrder({ builtIn, acme: null, stored, builtInAlone }),
      rounds: {},
      watch: () => null,
    };
  const events = observeAcme(running, stored);
  const health = new AuthorityHealth(stored, events);
  const servers = new AcmeServers(
    config.ACME_USER_AGENT,
    (authority) => {
      const observer = events.observerOf(authority);
      return (exchange) => {
        observer(exchange);
        health.observe(authority, exchange);
      };
    },
    config.ACME_ANSWER_TIMEOUT,
  );
  running.opened('certificate authorities', async () => await servers.close());
  const accounts = context.get(CaAccounts);
  const sessions = new AcmeAccounts({ authorities: stored, accounts, servers, keys, events });
  const buckets = context.get(CaLimitBuckets);
  const { lookUp } = surroundings;
  const { onVerdict } = events;
  const challenges = openChallenges(config, running, context, surroundings);
  const acme = new AcmeAuthority({
    orders: context.get(AcmeOrders),
    challenges: challenges.publisher,
    persistent: config.DNS_PERSIST ? new PersistentRecords(lookUp) : null,
    accounts: sessions,
    health,
    mostSlow: Math.ceil(config.JOB_CONCURRENCY * 0.75),
    repeats: defaultRepeats,
    buckets,
    preflight: async (question) => await preflight(question, { lookUp, buckets, onVerdict }),
  });
  const { log } = running;
  const keeping = { accounts, authorities: stored, sessions, servers, events };
  return {
    issuers: new AuthoritiesInOrder({ builtIn, acme, stored, builtInAlone }),
    rounds: {
      ...challenges.rounds,
      accountKeys: changeAccountKeys(keeping),
      accountContacts: keepContacts(keeping),
      renewalInfos: askRenewalInfos({
        infos: context.get(RenewalInfos),
        authorities: stored,
        servers,
        random: () => Math.random(),
        events: renewalEvents(running),
      }),
      challenges: async () => {
        await context.get(Challenges).forgetExpired();
        await buckets.forgetFull();
        return forgettingRestMs;
      },
    },
    watch: (attempt) => {
      const waiting = context.get(WaitingIssuances);
      const onError = (authority: string, error: unknown) =>
        log.warn({ authority, err: error }, 'probe of a CA came to nothing; it is repeated');
      const ask: WatchPorts['ask'] = async (authority) => await servers.of(authority).probe();
      return new WatchAuthorities({ health, waiting, authorities: stored, ask, attempt, onError }).round;
    },
  };
}

function renewalEvents({ log }: RunningProcess): Parameters<typeof askRenewalInfos>[0]['events'] {
  return {
    windowMoved: ({ certificateId, planId, authority }, { window, explanationUrl }, renewAt) => {
      const members = {
        certificate: certificateId,
        plan: planId,
        authority,
        ...window,
        explanationUrl,
        renewAt,
      };
      log.info(members, 'a CA would have a certificate replaced at another time than before');
    },
    failed: ({ certificateId, authority }, error) => {
      log.warn(
        { certificate: certificateId, authority, err: error },
        'no renewal information; it is asked again',
      );
    },
  };
}
