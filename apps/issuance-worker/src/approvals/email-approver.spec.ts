import type { MailboxState, Mailbox } from '@certwright/approvals';
import type { Outcome } from '@certwright/issuance';
import type { ApprovalQuestion } from './approver';
import { EmailApprover } from './email-approver';

const now = new Date('2026-11-20T12:00:00Z');
const question: ApprovalQuestion = {
  accountId: '1',
  planId: '2',
  dnsName: '*.example.com',
  delegationLabel: 'label',
  parent: null,
  record: null,
  approverEmail: 'admin@example.com',
  now,
};

function approver(state: MailboxState) {
  const requests: { readonly box: Mailbox; readonly since: Date }[] = [];
  const request = async (box: Mailbox, since: Date) =>
    await Promise.resolve((requests.push({ box, since }), state));
  return { approver: new EmailApprover({ request }, 10 * 86_400_000), requests };
}

describe('EmailApprover', () => {
  it('accepts an approval that is not older than the reuse period', async () => {
    const at = new Date('2026-11-12T00:00:00Z');
    const { approver: email, requests } = approver({ kind: 'approved', at });
    expect(await email.check(question)).toEqual({ approved: true, at });
    expect(requests).toEqual([
      {
        box: { accountId: '1', planId: '2', dnsName: '*.example.com', address: 'admin@example.com' },
        since: new Date('2026-11-10T12:00:00Z'),
      },
    ]);
  });

  it.each<[Outcome, MailboxState]>([
    [
      { code: 'approval_mail_unanswered', address: 'admin@example.com', askedAt: '2026-11-20T11:50:59Z' },
      { kind: 'requested', at: new Date('2026-11-20T11:50:59Z'), undeliverable: false },
    ],
    [
      { code: 'approval_mail_undeliverable', address: 'admin@example.com', askedAt: '2026-11-20T12:00:00Z' },
      { kind: 'requested', at: now, undeliverable: true },
    ],
    [
      { code: 'approval_mail_limit_reached', address: 'admin@example.com', until: '2026-11-21T08:00:00Z' },
      { kind: 'throttled', until: new Date('2026-11-21T08:00:00Z') },
    ],
  ])('reports: %j', async (problem, state) => {
    expect(await approver(state).approver.check(question)).toEqual({ approved: false, problem });
  });
});
