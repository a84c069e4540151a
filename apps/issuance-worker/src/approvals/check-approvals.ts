import { baseName } from '@certwright/dns-names';
import { type Issuance, type NameApproval, nextApprovalCheck } from '@certwright/issuance';
import type { Approver, ApprovalAnswer } from './approver';

export interface ApprovalProgress {
  readonly approvals: readonly NameApproval[];
  /** When to look again; null when every name is approved. */
  readonly nextCheckAt: Date | null;
}

/**
 * Asks about every pending name. A name and its wildcard are approved at one place, so that place is looked at once.
 *
 * @param labels name without `*.` → label of its standing record
 */
export async function checkApprovals(
  issuance: Pick<Issuance, 'approvals' | 'openedAt'>,
  labels: ReadonlyMap<string, string>,
  approver: Approver,
  now: Date,
): Promise<ApprovalProgress> {
  const pending = issuance.approvals.filter(({ status }) => status === 'pending');
  const places = [...new Set(pending.map(({ dnsName }) => baseName(dnsName)))];
  const answers = new Map<string, ApprovalAnswer>();
  await Promise.all(
    places.map(async (place) => answers.set(place, await ask(approver, place, labels.get(place)))),
  );
  const approvals = issuance.approvals.map((approval) => {
    if (approval.status === 'approved') return approval;
    return answered(approval, answers.get(baseName(approval.dnsName)), approver, now);
  });
  const done = approvals.every(({ status }) => status === 'approved');
  return { approvals, nextCheckAt: done ? null : nextApprovalCheck(issuance.openedAt, now) };
}

async function ask(approver: Approver, dnsName: string, label: string | undefined): Promise<ApprovalAnswer> {
  // The order that named it stored the label in the same transaction.
  if (label === undefined) throw new Error(`no delegation label is stored for ${dnsName}`);
  return await approver.check({ dnsName, delegationLabel: label });
}

function answered(
  approval: NameApproval,
  answer: ApprovalAnswer | undefined,
  { method }: Approver,
  now: Date,
): NameApproval {
  const checkedAt = `${now.toISOString().slice(0, 19)}Z`;
  if (answer?.approved === true) return { ...approval, status: 'approved', method, problem: null, checkedAt };
  return { ...approval, problem: answer?.problem ?? null, checkedAt };
}
