import type { FindingAlert } from '@certwright/core-schema';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config';
import { storable } from '../findings/new-finding';
import { alertBody } from './alert-body';
import { type Compared, changeOf } from './change-of';
import type { DueAlert } from './due-alerts.repository';
import { IndexedIssuances } from './indexed-issuances';
import { PublishedCaa } from './published-caa';

/** Max bytes of the bodies of a batch: one certificate may concern many accounts. */
const maxBytes = 32 * 1024 * 1024;

/** A finding with everything that is sent of it. */
export interface ReadyAlert {
  readonly finding: DueAlert;
  readonly alert: FindingAlert;
  readonly body: string;
  /** Null: it has no place in the index. */
  readonly discoveredAt: Date | null;
}

/** Reads and renders what alerts say. */
@Injectable()
export class PrepareAlerts {
  constructor(
    private readonly issuances: IndexedIssuances,
    private readonly caa: PublishedCaa,
    @Inject(Config) private readonly config: Pick<Config, 'SEARCH_URL'>,
  ) {}

  /** As many as fit the size limits, at least one. */
  async prepare(due: readonly DueAlert[]): Promise<readonly ReadyAlert[]> {
    const positions = due.map(({ position }) => position).filter((position) => position !== null);
    const { issuances, rest } = await this.issuances.at([...new Set(positions)]);
    const now = due.filter(({ position }) => position === null || !rest.has(position));
    const issuanceOf = ({ position, tbsSha256 }: DueAlert) => {
      const issuance = issuances.get(position ?? '');
      // After the index was restored, the position may be another certificate's.
      return issuance?.issuance.digests.subarray(0, tbsSha256.length).equals(tbsSha256) ? issuance : null;
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
    const ready: ReadyAlert[] = [];
    let bytes = 0;
    for (const [nth, finding] of now.entries()) {
      const issuance = issuanceOf(finding);
      const issuer = issuance?.issuer ?? null;
      const alert: FindingAlert = {
        issuer: {
          friendly_name: issuer === null ? null : storable(issuer.friendlyName),
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
      const { tbsSha256, endpoints, reason, source } = finding;
      const body = alertBody({ tbsSha256, endpoints, reason, isTest: source === 'test', issuance, alert });
      bytes += Buffer.byteLength(body);
      if (ready.length > 0 && bytes > maxBytes) break;
      const discoveredAt = issuance === null ? null : new Date(issuance.issuance.discoveredAtMs);
      ready.push({ finding, alert, body, discoveredAt });
    }
    return ready;
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
