import type { MailboxState, EmailApprovals } from '@certwright/approvals';
import { type Outcome, outcomeTime } from '@certwright/issuance';
import type { ApprovalResult, ApprovalQuestion, Approver } from './approver';

/**
 * Approval by email, sent to the mailbox that the order sets for a name. Covers wildcards: by Baseline Requirements,
 * section 3.2.2.4.4, this method is "suitable for validating Wildcard Domain Names". Name and wildcard get separate
 * mails, since the order sets an address for each, and an approver reads only one of them.
 */
export class EmailApprover implements Approver {
  readonly method = 'email';

  /** @param reuseMs validity period of an approval */
  constructor(
    private readonly approvals: Pick<EmailApprovals, 'request'>,
    private readonly reuseMs: number,
  ) {}

  placeOf({ dnsName, approverEmail }: ApprovalQuestion): string | null {
    return approverEmail === null ? null : dnsName;
  }

  async check({ accountId, planId, dnsName, approverEmail, now }: ApprovalQuestion): Promise<ApprovalResult> {
    if (approverEmail === null) throw new Error(`${dnsName} has no approver email address`);
    const since = new Date(now.getTime() - this.reuseMs);
    const state = await this.approvals.request({ accountId, planId, dnsName, address: approverEmail }, since);
    if (state.kind === 'approved') return { approved: true, at: state.at };
    return { approved: false, problem: waiting(state, approverEmail) };
  }
}

function waiting(state: Exclude<MailboxState, { kind: 'approved' }>, address: string): Outcome {
  if (state.kind === 'throttled') {
    return { code: 'approval_mail_limit_reached', address, until: outcomeTime(state.until) };
  }
  const code = state.undeliverable ? 'approval_mail_undeliverable' : 'approval_mail_unanswered';
  return { code, address, askedAt: outcomeTime(state.at) };
}
