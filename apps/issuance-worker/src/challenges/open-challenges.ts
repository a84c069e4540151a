import type { Challenges } from '@certwright/approvals';
import type { LeasedIntegrations } from '@certwright/dns-integrations';
import type { GatewayClient } from '@certwright/gateway-client';
import { ChallengeValues, connectRedis } from '@certwright/redis';
import type { RedisAccess } from '@certwright/redis-client';
import { type RunningProcess, SettingsError } from '@certwright/service';
import { Counter } from 'prom-client';
import { DnsServers, type LookUp } from '@certwright/dns-lookup';
import { ServerAddresses } from '@certwright/outbound';
import type { Tx } from '@certwright/core-schema';
import type { Outcome } from '@certwright/issuance';
import type { Config } from '../config';
import type { HostedChallengeRecords } from '../integrations/hosted-challenge-records';
import type { NameServers } from '../name-servers/name-servers';
import { type ChallengePublisher, type NotYet, ofType, type PublishedChallenge } from './challenge-publisher';
import { clearHosted } from './clear-hosted';
import { HostedChallenges } from './hosted-challenges';
import { HostedRecords, type HostingEvents } from './hosted-records';
import { HostedValuesSeen } from './hosted-values-seen';
import { StoredChallenges } from './stored-challenges';
import { ValuesSeen } from './values-seen';

/** Log lines and metrics of values in zones of integrations. Values are not secret: they are in public DNS. */
function observeHosting({ log, metrics: { registry } }: RunningProcess): HostingEvents {
  const failures = new Counter({
    name: 'certwright_hosted_challenge_failures_total',
    help: 'Values in the approval zone that an integration did not add or remove, by error; retried',
    labelNames: ['change', 'code'],
    registers: [registry],
  });
  return {
    gone: (integration) => {
      failures.inc({ change: 'add', code: 'gone' });
      log.error({ integration }, 'ALARM: APPROVAL_ZONE_INTEGRATION names no integration that is in use');
    },
    addFailed: (integration, { label }, { code, message }) => {
      failures.inc({ change: 'add', code });
      const members = { integration, label, code, reason: message };
      log.warn(members, 'value not added in the approval zone; retrying');
    },
    removeFailed: (integration, { label }, { code, message }) => {
      failures.inc({ change: 'remove', code });
      const members = { integration, label, code, reason: message };
      log.warn(members, 'value not removed from the approval zone; retrying');
    },
    leaseLost: (integration, error) => log.warn({ integration, err: error }, 'integration lease lost'),
  };
}

export interface ChallengeDependencies {
  readonly stored: Challenges;
  readonly hosted: HostedChallengeRecords;
  readonly integrations: LeasedIntegrations;
  /** The resolver. */
  readonly lookUp: LookUp;
  /** Null: no integration is set up. */
  readonly gateway: GatewayClient | null;
  readonly nameServers: NameServers;
  readonly redis: RedisAccess;
}

export interface OpenChallenges {
  readonly publisher: ChallengePublisher;
  /** Each returns the pause until the next round, ms. */
  readonly rounds: Readonly<Record<string, () => Promise<number>>>;
}

/** Where challenge values are published: at approval-responder, or in a zone of an integration. */
export function openChallenges(
  config: Config,
  running: RunningProcess,
  dependencies: ChallengeDependencies,
): OpenChallenges {
  const { APPROVAL_ZONE: approvalZone, APPROVAL_ZONE_INTEGRATION: integrationId } = config;
  const { gateway, nameServers, lookUp, stored, hosted: rows, integrations } = dependencies;
  const answered = storedChallenges(config, running, dependencies);
  if (gateway === null) {
    if (integrationId === null) return { publisher: answered, rounds: {} };
    const fault = 'is empty, and APPROVAL_ZONE_INTEGRATION is set';
    throw new SettingsError([{ name: 'GATEWAY_URL', fault }]);
  }
  const events = observeHosting(running);
  const records = new HostedRecords({ approvalZone, gateway, integrations, records: rows, events });
  // Runs even without hosting: earlier values must be removed.
  const rounds = { hostedChallenges: clearHosted(rows, records) };
  if (integrationId === null) return { publisher: answered, rounds };
  const hosted = new HostedChallenges({
    integrationId,
    stored,
    rows,
    records,
    seen: new HostedValuesSeen(approvalZone, lookUp, nameServers),
    events,
  });
  return { publisher: new ChallengesByType({ 'dns-01': hosted, 'http-01': answered }), rounds };
}

function storedChallenges(
  { APPROVAL_ZONE, APPROVAL_RESPONDERS }: Config,
  { log, opened }: RunningProcess,
  { lookUp, stored, redis }: Pick<ChallengeDependencies, 'lookUp' | 'stored' | 'redis'>,
): StoredChallenges {
  const values = connectRedis(redis, { name: 'issuance-worker-challenges', log });
  opened('challenges', async () => await values.close());
  const responders = new DnsServers(new ServerAddresses(APPROVAL_RESPONDERS), { recursion: false });
  opened('responders', () => responders.close());
  const queried = APPROVAL_RESPONDERS.length === 0 ? () => [lookUp] : async () => await responders.each();
  const seen = new ValuesSeen(APPROVAL_ZONE, queried);
  return new StoredChallenges(stored, new ChallengeValues(values), seen);
}

/** Delegates to the publisher of each challenge type. */
class ChallengesByType implements ChallengePublisher {
  constructor(private readonly places: Readonly<Record<PublishedChallenge['type'], ChallengePublisher>>) {}

  async publish(challenges: readonly PublishedChallenge[]): Promise<NotYet | null> {
    const files = await this.places['http-01'].publish(ofType(challenges, 'http-01'));
    const records = await this.places['dns-01'].publish(ofType(challenges, 'dns-01'));
    return records ?? files;
  }

  async unseen(challenges: readonly PublishedChallenge[], signal?: AbortSignal): Promise<Outcome | null> {
    const records = await this.places['dns-01'].unseen(ofType(challenges, 'dns-01'), signal);
    return records ?? (await this.places['http-01'].unseen(ofType(challenges, 'http-01'), signal));
  }

  async withdraw(challenges: readonly PublishedChallenge[], tx: Tx | null = null): Promise<void> {
    await this.places['dns-01'].withdraw(ofType(challenges, 'dns-01'), tx);
    await this.places['http-01'].withdraw(ofType(challenges, 'http-01'), tx);
  }
}
