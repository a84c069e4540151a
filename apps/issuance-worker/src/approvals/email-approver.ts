import type { Asked, EmailApprovals } from '@certwright/approvals';
import { type Outcome, outcomeTime } from '@certwright/issuance';
import type { ApprovalAnswer, ApprovalQuestion, Approver } from './approver';

/**
 * The mailbox that the order names for a name, asked by email. Covers wildcards: by Baseline Requirements, section
 * 3.2.2.4.4, this way is "suitable for validating Wildcard Domain Names". Name and wildcard are asked for apart, since
 * the order names an address for each, and whoever approves one reads only that one.
 */
export class EmailApprover implements Approver {
  readonly method = 'email';

  /** @param reuseMs how long an approval that was once given counts */
  constructor(
    private readonly approvals: Pick<EmailApprovals, 'ask'>,
    private readonly reuseMs: number,
  ) {}

  placeOf({ dnsName, approverEmail }: ApprovalQuestion): string | null {
    return approverEmail === null ? null : dnsName;
  }

  async check({ accountId, planId, dnsName, approverEmail, now }: ApprovalQuestion): Promise<ApprovalAnswer> {
    if (approverEmail === null) throw new Error(`nobody is to approve ${dnsName} by email`);
    const since = new Date(now.getTime() - this.reuseMs);
    const asked = await this.approvals.ask({ accountId, planId, dnsName, address: approverEmail }, since);
    if (asked.kind === 'approved') return { approved: true, at: asked.at };
    return { approved: false, problem: waiting(asked, approverEmail) };
  }
}

function waiting(asked: Exclude<Asked, { kind: 'approved' }>, address: string): Outcome {
  if (asked.kind === 'throttled') {
    return { code: 'approval_mail_limit_reached', address, until: outcomeTime(asked.until) };
  }
  const code = asked.undeliverable ? 'approval_mail_undeliverable' : 'approval_mail_unanswered';
  return { code, address, askedAt: outcomeTime(asked.at) };
}
