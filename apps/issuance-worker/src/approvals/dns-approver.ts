import { approvalLabelOf, baseName } from '@certwright/dns-names';
import { waitingForRecord } from '@certwright/issuance';
import type { LookUp } from '../dns-lookup/answer';
import { findStandingDelegation } from '../dns-lookup/standing-delegation';
import type { ApprovalAnswer, ApprovalQuestion, Approver } from './approver';
import type { ParentSays } from './parent-delegation';

/** For the whole search, however many records it follows: half of a check, so that the other ways get their turn. */
export const searchMs = 4_000;

/**
 * The standing record: `_acme-challenge.<name>` delegates, by CNAME or NS, to a target that only this tenant was told. One
 * that an integration publishes is not looked up before it stands: the resolver would keep that it is not there.
 */
export class DnsApprover implements Approver {
  readonly method = 'dns';

  /**
   * @param approvalZone the platform's zone in which the targets lie
   * @param doubt told of a record that stands and was not found
   * @param parentSays asked where a resolver shows only the child's side of a delegation
   */
  constructor(
    private readonly lookUp: LookUp,
    private readonly approvalZone: string,
    private readonly doubt: (recordId: string) => Promise<void>,
    private readonly parentSays: ParentSays,
  ) {}

  /** RFC 8555, section 8.4: a wildcard is approved at its base name. */
  placeOf({ dnsName }: ApprovalQuestion): string {
    return baseName(dnsName);
  }

  async check(
    { dnsName, delegationLabel, record }: ApprovalQuestion,
    signal: AbortSignal,
  ): Promise<ApprovalAnswer> {
    if (record !== null && record.state !== 'standing') {
      return { approved: false, problem: waitingForRecord(record) };
    }
    const recordName = approvalLabelOf(dnsName);
    const target = `${delegationLabel}.${this.approvalZone}`;
    const wanted = { recordName, target };
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(searchMs)]);
    const finding = await findStandingDelegation(this.lookUp, wanted, { signal: bounded });
    if (finding.found) return { approved: true };
    if (finding.delegatedElsewhere) {
      const problem = await this.parentSays(dnsName, wanted, bounded);
      return problem === null ? { approved: true } : { approved: false, problem };
    }
    if (record !== null && !finding.retryable) await this.doubt(record.id);
    return { approved: false, problem: `${finding.problem}.` };
  }
}
