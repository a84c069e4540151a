import { approvalLabelOf, baseName } from '@certwright/dns-names';
import { recordNotReady } from '@certwright/issuance';
import type { LookUp } from '@certwright/dns-lookup';
import { findStandingDelegation } from '../dns-lookup/standing-delegation';
import type { ApprovalResult, ApprovalQuestion, Approver, ParentRecord } from './approver';
import type { ParentSays } from './parent-delegation';

/** For the whole search, with any number of records: half of a check, which leaves time for the other methods. */
const searchMs = 4_000;

/**
 * The standing record: `_acme-challenge.<name>` delegates, by CNAME or NS, to a target known only to this tenant. A
 * record that an integration publishes is not looked up before it exists: the resolver would cache its absence. Where
 * the record of a parent name counts as well, either approves.
 */
export class DnsApprover implements Approver {
  readonly method = 'dns';

  /**
   * @param approvalZone the platform's zone that contains the targets
   * @param doubt called with a standing record that was not found
   * @param parentSays used where a resolver shows only the child's side of a delegation
   */
  constructor(
    private readonly lookUp: LookUp,
    private readonly approvalZone: string,
    private readonly doubt: (recordId: string) => Promise<void>,
    private readonly parentSays: ParentSays,
  ) {}

  /** RFC 8555, section 8.4: a wildcard is approved at its base name. */
  placeOf({ dnsName, delegationLabel, parent }: ApprovalQuestion): string | null {
    if (delegationLabel === null) return null;
    const own = baseName(dnsName);
    return parent === null ? own : `${own} or ${parent.dnsName}`;
  }

  async check(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalResult> {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(searchMs)]);
    const { parent } = question;
    // In parallel: either may exist, and both share the time of one.
    const [own, above] = await Promise.all([
      this.checkOwn(question, bounded),
      parent === null ? null : this.checkParent(parent, bounded),
    ]);
    if (own.approved || above === null) return own;
    if (above.approved) return above;
    const ways = [above, own].map(({ problem }) => ({ method: 'dns' as const, outcome: problem }));
    return { approved: false, problem: { code: 'not_approved', ways } };
  }

  private async checkOwn(
    { dnsName, delegationLabel, record }: ApprovalQuestion,
    signal: AbortSignal,
  ): Promise<ApprovalResult> {
    if (delegationLabel === null) throw new Error(`${dnsName} has no delegation label for approval by DNS`);
    if (record !== null && record.state !== 'standing') {
      return { approved: false, problem: recordNotReady(record) };
    }
    const { result, isMissing } = await this.find(dnsName, delegationLabel, signal);
    if (record !== null && isMissing) await this.doubt(record.id);
    return result;
  }

  private async checkParent(
    { dnsName, delegationLabel }: ParentRecord,
    signal: AbortSignal,
  ): Promise<ApprovalResult> {
    return (await this.find(dnsName, delegationLabel, signal)).result;
  }

  /** `isMissing`: known not to exist. */
  private async find(
    dnsName: string,
    delegationLabel: string,
    signal: AbortSignal,
  ): Promise<{ readonly result: ApprovalResult; readonly isMissing: boolean }> {
    const target = `${delegationLabel}.${this.approvalZone}`;
    const wanted = { recordName: approvalLabelOf(dnsName), target };
    const finding = await findStandingDelegation(this.lookUp, wanted, { signal });
    if (finding.found) return { result: { approved: true }, isMissing: false };
    if (finding.delegatedElsewhere) {
      const problem = await this.parentSays(dnsName, wanted, signal);
      const result: ApprovalResult = problem === null ? { approved: true } : { approved: false, problem };
      return { result, isMissing: false };
    }
    return { result: { approved: false, problem: finding.problem }, isMissing: !finding.retryable };
  }
}
