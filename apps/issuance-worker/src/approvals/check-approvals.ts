import { baseName, isWildcard } from '@certwright/dns-names';
import {
  type ApprovalMethod,
  mayBeApprovedBy,
  type NameApproval,
  nextApprovalCheck,
  type Outcome,
} from '@certwright/issuance';
import { timestamp } from './approval-age';
import { type ApprovalSubject, questionAbout } from './approval-subject';
import type { ApprovalQuestion, Approver } from './approver';
import { sideBySide } from './side-by-side';

export interface ApprovalProgress {
  readonly approvals: readonly NameApproval[];
  /** Time of the next check; null when every name is approved. */
  readonly nextCheckAt: Date | null;
}

export interface CheckBounds {
  /** For the whole check, ms. Its lease lasts 15 s, and the result must be written within that time. */
  readonly withinMs: number;
  /** Names checked in parallel: one order must not fill the resolver's or the prober's queue. */
  readonly sideBySide: number;
}

const usualBounds: CheckBounds = { withinMs: 8_000, sideBySide: 8 };

/**
 * Checks for an approval of every pending name: by the one method that counts for it, or, if none is set, by one
 * method after the other until one approves. The least recently checked names come first; names without a check in
 * time keep their state and are checked next.
 *
 * @param approvers those that the product supports, in the order in which they are called
 */
export async function checkApprovals(
  subject: ApprovalSubject,
  approvers: readonly Approver[],
  now: Date,
  bounds: CheckBounds = usualBounds,
): Promise<ApprovalProgress> {
  const { approvals, openedAt } = subject.issuance;
  const signal = AbortSignal.timeout(bounds.withinMs);
  const seen = new Map<string, NameApproval>();
  await sideBySide(bounds.sideBySide, groupsOf(approvals), async (group) => {
    const looks = group.map((approval) => ({ approval, question: questionAbout(subject, approval, now) }));
    if (signal.aborted) return;
    for (const approval of await look(looks, approvers, signal)) seen.set(approval.dnsName, approval);
  });
  const after = approvals.map((approval) => seen.get(approval.dnsName) ?? approval);
  if (after.every(({ status }) => status === 'approved')) return { approvals: after, nextCheckAt: null };
  const complete = approvals.every(({ status, dnsName }) => status === 'approved' || seen.has(dnsName));
  return { approvals: after, nextCheckAt: complete ? nextApprovalCheck(openedAt, now) : now };
}

/**
 * Pending names, each with its wildcard, since some methods check both at one place; the least recently checked
 * first.
 */
function groupsOf(approvals: readonly NameApproval[]): (readonly NameApproval[])[] {
  const groups = new Map<string, NameApproval[]>();
  for (const approval of approvals) {
    if (approval.status === 'approved') continue;
    const name = baseName(approval.dnsName);
    groups.set(name, [...(groups.get(name) ?? []), approval]);
  }
  const lookedAt = (group: readonly NameApproval[]) => group[0]?.checkedAt ?? '';
  return [...groups.values()].sort((one, other) => (lookedAt(one) < lookedAt(other) ? -1 : 1));
}

interface Found {
  readonly method: ApprovalMethod;
  readonly outcome: Outcome;
}

interface Look {
  readonly approval: NameApproval;
  readonly question: ApprovalQuestion;
}

/** @returns the names with a result: approved, or checked by every method in time */
async function look(
  looks: readonly Look[],
  approvers: readonly Approver[],
  signal: AbortSignal,
): Promise<readonly NameApproval[]> {
  const approved: NameApproval[] = [];
  const problems = new Map(looks.map(({ question }) => [question.dnsName, [] as Found[]]));
  for (const approver of approvers) {
    const checks = new Map<string, ReturnType<Approver['check']>>();
    for (const { approval, question } of looks) {
      if (!mayBeApprovedBy(approval, approver.method)) continue;
      const place = approver.placeOf(question);
      const found = problems.get(question.dnsName);
      if (place === null || found === undefined || signal.aborted) continue;
      const check = checks.get(place) ?? approver.check(question, signal);
      checks.set(place, check);
      const result = await check;
      if (result.approved) {
        problems.delete(question.dnsName);
        const checkedAt = timestamp(result.at ?? question.now);
        approved.push({ ...approval, status: 'approved', method: approver.method, problem: null, checkedAt });
      } else {
        const { problem } = result;
        const { method } = approver;
        found.push(...(problem.code === 'not_approved' ? problem.ways : [{ method, outcome: problem }]));
      }
    }
  }
  if (signal.aborted) return approved;
  const pending = looks.flatMap(({ approval, question: { now } }) => {
    const found = problems.get(approval.dnsName);
    if (found === undefined) return [];
    const problem: Outcome =
      found.length > 0 ? { code: 'not_approved', ways: found } : notChecked(approval, approvers);
    return [{ ...approval, problem, checkedAt: timestamp(now) }];
  });
  return [...approved, ...pending];
}

/** Why no approval method could be tried. */
function notChecked({ dnsName, way }: NameApproval, approvers: readonly Approver[]): Outcome {
  if (!way) return { code: 'no_approval_way', dnsName };
  const { method } = way;
  const reason = () => {
    if (!approvers.some((approver) => approver.method === method)) return 'not_offered';
    if (method === 'email') return 'no_approver';
    return isWildcard(dnsName) ? 'wildcard' : 'name';
  };
  const outcome = { code: 'approval_way_unusable', dnsName, reason: reason() } as const;
  return { code: 'not_approved', ways: [{ method, outcome }] };
}
