import { baseName, isWildcard } from '@certwright/dns-names';
import type { ApprovalMethod, NameApproval, Outcome } from '@certwright/issuance';
import type { ApprovalSubject } from '../approvals/approval-subject';
import type { ApprovalQuestion, Approver } from '../approvals/approver';

export const labels: ReadonlyMap<string, string> = new Map([
  ['example.com', 'label-of-example-com'],
  ['example.net', 'label-of-example-net'],
]);

export function pending(dnsName: string, checkedAt: string | null = null): NameApproval {
  return { dnsName, status: 'pending', method: null, problem: null, checkedAt };
}

export function subject(
  approvals: readonly NameApproval[],
  also: Partial<ApprovalSubject> = {},
): ApprovalSubject {
  return {
    issuance: { accountId: '1', planId: '2', approvals, openedAt: new Date('2026-11-20T11:59:00Z') },
    labels,
    records: new Map(),
    approverEmails: {},
    acceptsParentRecords: false,
    ...also,
  };
}

export type Recording = Approver & {
  readonly checked: string[];
  readonly questions: ApprovalQuestion[];
};

/** Approves these names; reports where it checked and its input. */
export function approver(method: ApprovalMethod, approves: readonly string[] = [], at?: Date): Recording {
  const checked: string[] = [];
  const questions: ApprovalQuestion[] = [];
  return {
    method,
    checked,
    questions,
    placeOf: ({ dnsName, delegationLabel, approverEmail }) => {
      if (method === 'dns') return delegationLabel === null ? null : baseName(dnsName);
      if (method === 'http') return isWildcard(dnsName) ? null : dnsName;
      return approverEmail === null ? null : dnsName;
    },
    check: async (question) => {
      checked.push(question.dnsName);
      questions.push(question);
      const approved = approves.includes(question.dnsName);
      return await Promise.resolve(
        approved ? { approved, at } : { approved: false, problem: nothingAt(question.dnsName) },
      );
    },
  };
}

export const nothingAt = (dnsName: string): Outcome => ({ code: 'dns_zone_unknown', dnsName });
