import type { Asked, EmailApprovals } from '@certwright/approvals';
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

function waiting(asked: Exclude<Asked, { kind: 'approved' }>, address: string): string {
  if (asked.kind === 'throttled') {
    return `${address} has been sent all the approval requests that one address gets within a day, those for other orders included; the next one can go out after ${minuteOf(asked.until)}.`;
  }
  return asked.undeliverable
    ? `the request to ${address} of ${minuteOf(asked.at)} could not be delivered; request the approval again for another one, or name another address.`
    : `${address} was asked at ${minuteOf(asked.at)} and has not approved yet; request the approval again after ten minutes for another mail.`;
}

/** `2026-11-20 12:00 UTC` */
function minuteOf(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
