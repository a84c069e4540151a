import { type FindingAlert, Transactions } from '@certwright/core-schema';
import { AccountEvents } from '@certwright/delivery';
import { Rounds } from '@certwright/service';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { Config } from '../config';
import { AlertWakeUp } from '../findings/alert-wake-up';
import { keyOf } from '../findings/known-facts';
import { LeasedRounds } from '../tasks/leased-rounds';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { alertBody } from './alert-body';
import { AlertMetrics } from './alert-metrics';
import { type Compared, changeOf } from './change-of';
import { type DueAlert, DueAlerts } from './due-alerts.repository';
import { type IndexedIssuance, IndexedIssuances } from './indexed-issuances';
import { PublishedCaa } from './published-caa';

/** Findings that are alerted in one transaction. */
const maxAlerts = 200;

/** How often findings of other processes are looked for, ms. */
const pollMs = 250;

/** A finding with everything that is sent of it. */
interface ReadyAlert {
  readonly finding: DueAlert;
  readonly issuance: IndexedIssuance | null;
  readonly alert: FindingAlert;
}

/** Notifies accounts of unknown certificates. */
@Injectable()
export class Alerts implements OnModuleInit {
  constructor(
    private readonly leased: LeasedRounds,
    @Inject(Rounds) private readonly rounds: Pick<Rounds, 'stopping'>,
    private readonly wakeUp: AlertWakeUp,
    private readonly dueAlerts: DueAlerts,
    private readonly issuances: IndexedIssuances,
    private readonly caa: PublishedCaa,
    private readonly events: AccountEvents,
    private readonly transactions: Transactions,
    private readonly metrics: AlertMetrics,
    @Inject(Config) private readonly config: Pick<Config, 'LEASE_TIME' | 'SEARCH_URL'>,
  ) {}

  onModuleInit(): void {
    this.leased.add('alerts', async (lease) => await this.round(lease));
  }

  /** Polls within the round: the lease is extended less often. */
  private async round(lease: TaskLease): Promise<number> {
    const endMs = performance.now() + this.config.LEASE_TIME / 3;
    while (performance.now() < endMs && !this.rounds.stopping.aborted) {
      if ((await this.send(lease)) > 0) return 0;
      await this.wakeUp.wait(pollMs, this.rounds.stopping);
    }
    return 0;
  }

  /** @returns how many findings are no longer due */
  async send(lease: TaskLease): Promise<number> {
    const due = await this.dueAlerts.due(maxAlerts);
    if (due.length === 0) return 0;
    const ready = new Map(
      (await this.prepare(due)).map((each) => [keyOf(each.finding.account, each.finding.tbsSha256), each]),
    );
    const ids = [...ready.values()].map(({ finding }) => finding);
    const sent = await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      const locked = await this.dueAlerts.lock(tx, ids);
      const toSend = locked.flatMap(({ isSent, account, tbsSha256 }) =>
        isSent ? (ready.get(keyOf(account, tbsSha256)) ?? []) : [],
      );
      await this.events.enqueue(tx, toSend.map(eventOf));
      await this.dueAlerts.markSent(
        tx,
        toSend.map(({ finding, alert }) => ({ ...finding, alert })),
      );
      await this.dueAlerts.markUnsent(
        tx,
        locked.filter(({ isSent }) => !isSent),
      );
      return toSend;
    });
    for (const { issuance } of sent) this.metrics.alerted(issuance?.issuance.discoveredAt ?? null);
    return ids.length;
  }

  private async prepare(due: readonly DueAlert[]): Promise<readonly ReadyAlert[]> {
    const positions = due.map(({ position }) => position).filter((position) => position !== null);
    const { issuances, rest } = await this.issuances.at([...new Set(positions)]);
    const now = due.filter(({ position }) => position === null || !rest.has(position));
    const issuanceOf = ({ position, tbsSha256 }: DueAlert) => {
      const issuance = issuances.get(position ?? '');
      // After the index was restored, the position may be another certificate's.
      return issuance?.issuance.tbsSha256.equals(tbsSha256) === true ? issuance : null;
    };
    const [operators, caa] = await Promise.all([
      this.operatorsOf(now),
      this.caa.of(
        now.map((finding) => ({
          dnsNames: finding.endpoints.filter(({ odd_name }) => !odd_name).map(({ dns_name }) => dns_name),
          issuerDomains: issuanceOf(finding)?.issuer.caaDomains ?? null,
        })),
      ),
    ]);
    return now.map((finding, nth) => {
      const issuance = issuanceOf(finding);
      const issuer = issuance?.issuer ?? null;
      const alert: FindingAlert = {
        issuer: {
          friendly_name: issuer?.friendlyName ?? null,
          website: issuer?.website ?? null,
          caa_domains: issuer?.caaDomains ?? null,
          operator: issuer?.operator?.name ?? null,
        },
        problem_reporting: issuer?.problemReporting ?? null,
        change: changeOf(comparedOf(finding, operators), previousOf(finding, operators)),
        caa: caa[nth] ?? 'unknown',
        html_url:
          issuance === null ? '' : `${this.config.SEARCH_URL}/v1/issuances/${issuance.issuance.position}`,
      };
      return { finding, issuance, alert };
    });
  }

  /** Only for those with another issuer than before. */
  private async operatorsOf(due: readonly DueAlert[]): Promise<ReadonlyMap<string, string>> {
    const keys = due
      .filter(
        ({ issuerSpkiSha256, previousIssuerSpkiSha256 }) =>
          previousIssuerSpkiSha256 !== null && issuerSpkiSha256?.equals(previousIssuerSpkiSha256) === false,
      )
      .flatMap(({ issuerSpkiSha256, previousIssuerSpkiSha256 }) => [
        issuerSpkiSha256,
        previousIssuerSpkiSha256,
      ])
      .filter((key) => key !== null);
    return await this.issuances.operatorsOf(keys);
  }
}

function eventOf({ finding, issuance, alert }: ReadyAlert) {
  const { account, tbsSha256, endpoints, reason, source } = finding;
  return {
    accountId: account,
    event: 'monitoring.unknown_certificate',
    subject: `finding:${tbsSha256.toString('hex')}`,
    body: alertBody({ tbsSha256, endpoints, reason, isTest: source === 'test', issuance, alert }),
  } as const;
}

function comparedOf(finding: DueAlert, operators: ReadonlyMap<string, string>): Compared {
  const { dnsNamesSha256, spkiSha256, issuerSpkiSha256 } = finding;
  const issuerOperator = operators.get(issuerSpkiSha256?.toString('hex') ?? '') ?? null;
  return { dnsNamesSha256, spkiSha256, issuerSpkiSha256, issuerOperator };
}

function previousOf(finding: DueAlert, operators: ReadonlyMap<string, string>): Compared | null {
  const { previousDnsNamesSha256, previousSpkiSha256, previousIssuerSpkiSha256 } = finding;
  if (previousDnsNamesSha256 === null) return null;
  return {
    dnsNamesSha256: previousDnsNamesSha256,
    spkiSha256: previousSpkiSha256,
    issuerSpkiSha256: previousIssuerSpkiSha256,
    issuerOperator: operators.get(previousIssuerSpkiSha256?.toString('hex') ?? '') ?? null,
  };
}
