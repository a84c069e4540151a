import { baseName } from '@certwright/dns-names';
import {
  type Coverage,
  mayBeApprovedBy,
  noCoverage,
  type Placement,
  placements,
  zoneFor,
} from '@certwright/issuance';
import type { ApprovalRecords } from '@certwright/approvals';
import type { LeasedWork } from '@certwright/ordering';

/** An issuance in progress, and the records that the account's integrations can publish for it. */
export type CoveredWork = Pick<LeasedWork, 'lease' | 'issuance' | 'delegationLabels' | 'hasIntegrations'> & {
  readonly coverage: Coverage;
};

/**
 * Requests the standing records that are required; the job `keep-integration` publishes them. An account without
 * integrations has no cost here: the lease shows it.
 */
export class PublishApprovals {
  /**
   * @param approvalZone the platform's zone in which the targets lie
   * @param served whether a gateway is configured: without one no record is requested or waited for, and names are
   *   approved
   *   as in accounts without integrations
   */
  constructor(
    private readonly records: Pick<ApprovalRecords, 'coverageOf' | 'want' | 'requestZones'>,
    private readonly approvalZone: string,
    private readonly served: boolean,
  ) {}

  /** Requests a listing when zones of the account are not known yet. */
  async coverageOf({
    issuance,
    hasIntegrations,
  }: Pick<LeasedWork, 'issuance' | 'hasIntegrations'>): Promise<Coverage> {
    const names = pendingNames(issuance);
    if (!this.served || !hasIntegrations || names.length === 0) return noCoverage;
    const { accountId, planId } = issuance;
    const coverage = await this.records.coverageOf(accountId, planId, names);
    if (names.some((name) => zoneFor(name, coverage.zones) === null)) {
      await this.records.requestZones(accountId);
    }
    return coverage;
  }

  unpublished(work: CoveredWork): readonly string[] {
    return placementsOf(work).map(({ dnsName }) => dnsName);
  }

  /** @throws LeaseLost */
  async want(work: CoveredWork): Promise<void> {
    const { lease, issuance, delegationLabels } = work;
    const targetOf = (dnsName: string) => {
      const label = delegationLabels.get(dnsName);
      // The transaction that stored the name stored the label too.
      if (label === undefined) throw new Error(`no delegation label is stored for ${dnsName}`);
      return `${label}.${this.approvalZone}`;
    };
    await this.records.want(lease, issuance, placementsOf(work), targetOf);
  }
}

function placementsOf({ issuance, coverage }: CoveredWork): readonly Placement[] {
  return placements(pendingNames(issuance), issuance, coverage);
}

/** Names that a standing record can approve: useless for a name with another approval method. */
function pendingNames({ approvals }: LeasedWork['issuance']): readonly string[] {
  const pending = approvals.filter(
    (approval) => approval.status === 'pending' && mayBeApprovedBy(approval, 'dns'),
  );
  return [...new Set(pending.map(({ dnsName }) => baseName(dnsName)))];
}
