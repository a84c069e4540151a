import { approvalLabelOf, baseName } from '@certwright/dns-names';
import type { LookUp } from '../dns-lookup/answer';
import { findStandingDelegation } from '../dns-lookup/standing-delegation';
import type { ApprovalAnswer, ApprovalQuestion, Approver } from './approver';

/** For the whole search, however many records it follows: half of a check, so that the other ways get their turn. */
export const searchMs = 4_000;

/** The standing record: `_acme-challenge.<name>` delegates, by CNAME or NS, to a target that only this tenant was told. */
export class DnsApprover implements Approver {
  readonly method = 'dns';

  /** @param approvalZone the platform's zone in which the targets lie */
  constructor(
    private readonly lookUp: LookUp,
    private readonly approvalZone: string,
  ) {}

  /** RFC 8555, section 8.4: a wildcard is approved at its base name. */
  placeOf({ dnsName }: ApprovalQuestion): string {
    return baseName(dnsName);
  }

  async check({ dnsName, delegationLabel }: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalAnswer> {
    const recordName = approvalLabelOf(dnsName);
    const target = `${delegationLabel}.${this.approvalZone}`;
    const finding = await findStandingDelegation(
      this.lookUp,
      { recordName, target },
      { signal: AbortSignal.any([signal, AbortSignal.timeout(searchMs)]) },
    );
    return finding.found ? { approved: true } : { approved: false, problem: `${finding.problem}.` };
  }
}
