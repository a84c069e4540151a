import type { NameApproval } from '@certwright/issuance';
import type { ApprovalQuestion, Approver } from './approver';
import { checkApprovals } from './check-approvals';

const now = new Date('2026-11-20T12:00:00Z');
const openedAt = new Date('2026-11-20T11:59:00Z');
const labels = new Map([
  ['example.com', 'label-of-example-com'],
  ['example.net', 'label-of-example-net'],
]);

function pending(dnsName: string): NameApproval {
  return { dnsName, status: 'pending', method: null, problem: null, checkedAt: null };
}

function approving(names: readonly string[]): Approver & { readonly asked: ApprovalQuestion[] } {
  const asked: ApprovalQuestion[] = [];
  return {
    method: 'dns',
    asked,
    check: async (question) => {
      asked.push(question);
      const approved = names.includes(question.dnsName);
      return await Promise.resolve(
        approved ? { approved } : { approved: false, problem: `nothing at ${question.dnsName}` },
      );
    },
  };
}

describe('checkApprovals', () => {
  it('looks once for a name and its wildcard, with the label of this tenant and name', async () => {
    const approver = approving(['example.com']);
    const approvals = [pending('example.com'), pending('*.example.com')];
    const progress = await checkApprovals({ approvals, openedAt }, labels, approver, now);
    expect(approver.asked).toEqual([{ dnsName: 'example.com', delegationLabel: 'label-of-example-com' }]);
    expect(progress.nextCheckAt).toBeNull();
    expect(progress.approvals.map(({ status, method }) => [status, method])).toEqual([
      ['approved', 'dns'],
      ['approved', 'dns'],
    ]);
  });

  it('tells per name what was found, and when it will look again', async () => {
    const approvals = [pending('example.com'), pending('example.net')];
    const progress = await checkApprovals({ approvals, openedAt }, labels, approving(['example.com']), now);
    expect(progress.approvals[1]).toEqual({
      ...pending('example.net'),
      problem: 'nothing at example.net',
      checkedAt: '2026-11-20T12:00:00Z',
    });
    expect(progress.nextCheckAt).toEqual(new Date('2026-11-20T12:00:15Z'));
  });

  it('does not ask again for what is approved', async () => {
    const approved: NameApproval = { ...pending('example.com'), status: 'approved', method: 'dns' };
    const approver = approving(['example.net']);
    const progress = await checkApprovals(
      { approvals: [approved, pending('example.net')], openedAt },
      labels,
      approver,
      now,
    );
    expect(approver.asked.map(({ dnsName }) => dnsName)).toEqual(['example.net']);
    expect(progress.approvals[0]).toBe(approved);
  });

  it('never asks without a label: that would approve by what anybody can publish', async () => {
    const question = checkApprovals(
      { approvals: [pending('example.org')], openedAt },
      labels,
      approving([]),
      now,
    );
    await expect(question).rejects.toThrow('example.org');
  });
});
