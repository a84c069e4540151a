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

/** An issuance on its way, and what the account's integrations can do for it. */
export type CoveredWork = Pick<LeasedWork, 'lease' | 'issuance' | 'delegationLabels' | 'hasIntegrations'> & {
  readonly coverage: Coverage;
};

/**
 * Says which standing records are wanted; the job `keep-integration` publishes them. An account without integrations
 * costs nothing here: the lease tells.
 */
export class PublishApprovals {
  /**
   * @param approvalZone the platform's zone in which the targets lie
   * @param served whether a gateway is configured: without one no record is wanted or waited for, and names are approved
   *   as they are in accounts without integrations
   */
  constructor(
    private readonly records: Pick<ApprovalRecords, 'coverageOf' | 'want' | 'askForZones'>,
    private readonly approvalZone: string,
    private readonly served: boolean,
  ) {}

  /** Zones of the account that are not known yet are asked for. */
  async coverageOf({
    issuance,
    hasIntegrations,
  }: Pick<LeasedWork, 'issuance' | 'hasIntegrations'>): Promise<Coverage> {
    const names = pendingNames(issuance);
    if (!this.served || !hasIntegrations || names.length === 0) return noCoverage;
    const { accountId, planId } = issuance;
    const coverage = await this.records.coverageOf(accountId, planId, names);
    if (names.some((name) => zoneFor(name, coverage.zones) === null)) {
      await this.records.askForZones(accountId);
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
      // The order that named it stored the label in the same transaction.
      if (label === undefined) throw new Error(`no delegation label is stored for ${dnsName}`);
      return `${label}.${this.approvalZone}`;
    };
    await this.records.want(lease, issuance, placementsOf(work), targetOf);
  }
}

function placementsOf({ issuance, coverage }: CoveredWork): readonly Placement[] {
  return placements(pendingNames(issuance), issuance, coverage);
}

/** Those that a standing record can approve: one for a name that counts another way would be of no use. */
function pendingNames({ approvals }: LeasedWork['issuance']): readonly string[] {
  const pending = approvals.filter(
    (approval) => approval.status === 'pending' && mayBeApprovedBy(approval, 'dns'),
  );
  return [...new Set(pending.map(({ dnsName }) => baseName(dnsName)))];
}
