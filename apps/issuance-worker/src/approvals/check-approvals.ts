import { baseName } from '@certwright/dns-names';
import {
  type ApprovalMethod,
  type Coverage,
  type Issuance,
  type NameApproval,
  nextApprovalCheck,
} from '@certwright/issuance';
import type { ApprovalQuestion, Approver } from './approver';
import { sideBySide } from './side-by-side';

export interface ApprovalProgress {
  readonly approvals: readonly NameApproval[];
  /** When to look again; null when every name is approved. */
  readonly nextCheckAt: Date | null;
}

/** An issuance whose names are to be approved. */
export interface ApprovalSubject {
  readonly issuance: Pick<Issuance, 'accountId' | 'planId' | 'approvals' | 'openedAt'>;
  /** Name without `*.` → label of its standing record. */
  readonly labels: ReadonlyMap<string, string>;
  /** Name without `*.` → what an integration publishes for it. */
  readonly records: Coverage['records'];
  /** Name → who may approve it by email; empty when the product does not know this way. */
  readonly approverEmails: Readonly<Record<string, string>>;
}

export interface CheckBounds {
  /** For the whole check, ms. The lease under which it is made lasts 15 s, and its result must be written in them. */
  readonly withinMs: number;
  /** Names that are looked at side by side: one order must not fill the resolver's or the prober's queue. */
  readonly sideBySide: number;
}

const usualBounds: CheckBounds = { withinMs: 8_000, sideBySide: 8 };

/**
 * Looks for an approval of every pending name, in one way after the other, and stops at the first that approves. Names
 * that were looked at the longest ago come first; what the time does not suffice for stays as it was and is looked at
 * next.
 *
 * @param approvers in the order in which they are asked
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
    const looks = group.map((approval) => ({
      approval,
      question: questionOf(subject, approval.dnsName, now),
    }));
    if (signal.aborted) return;
    for (const approval of await look(looks, approvers, signal)) seen.set(approval.dnsName, approval);
  });
  const after = approvals.map((approval) => seen.get(approval.dnsName) ?? approval);
  if (after.every(({ status }) => status === 'approved')) return { approvals: after, nextCheckAt: null };
  const complete = approvals.every(({ status, dnsName }) => status === 'approved' || seen.has(dnsName));
  return { approvals: after, nextCheckAt: complete ? nextApprovalCheck(openedAt, now) : now };
}

/** Pending names, each with its wildcard, since some ways look for both at one place; the one looked at least lately first. */
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

function questionOf(
  { issuance: { accountId, planId }, labels, records, approverEmails }: ApprovalSubject,
  dnsName: string,
  now: Date,
): ApprovalQuestion {
  const delegationLabel = labels.get(baseName(dnsName));
  // The order that named it stored the label in the same transaction.
  if (delegationLabel === undefined) throw new Error(`no delegation label is stored for ${dnsName}`);
  const approverEmail = Object.hasOwn(approverEmails, dnsName) ? (approverEmails[dnsName] ?? null) : null;
  const record = records.get(baseName(dnsName)) ?? null;
  return { accountId, planId, dnsName, delegationLabel, record, approverEmail, now };
}

interface Look {
  readonly approval: NameApproval;
  readonly question: ApprovalQuestion;
}

/** @returns the names about which something was found out: approved, or looked for in every way in time */
async function look(
  looks: readonly Look[],
  approvers: readonly Approver[],
  signal: AbortSignal,
): Promise<readonly NameApproval[]> {
  const approved: NameApproval[] = [];
  const problems = new Map(looks.map(({ question }) => [question.dnsName, [] as string[]]));
  for (const approver of approvers) {
    const answers = new Map<string, ReturnType<Approver['check']>>();
    for (const { approval, question } of looks) {
      const place = approver.placeOf(question);
      const found = problems.get(question.dnsName);
      if (place === null || found === undefined || signal.aborted) continue;
      const asked = answers.get(place) ?? approver.check(question, signal);
      answers.set(place, asked);
      const answer = await asked;
      if (answer.approved) {
        problems.delete(question.dnsName);
        const checkedAt = timestamp(answer.at ?? question.now);
        approved.push({ ...approval, status: 'approved', method: approver.method, problem: null, checkedAt });
      } else found.push(`${waysInWords[approver.method]}: ${answer.problem}`);
    }
  }
  if (signal.aborted) return approved;
  const pending = looks.flatMap(({ approval, question: { dnsName, now } }) => {
    const found = problems.get(dnsName);
    return found === undefined ? [] : [{ ...approval, problem: found.join(' '), checkedAt: timestamp(now) }];
  });
  return [...approved, ...pending];
}

const waysInWords = {
  dns: 'By DNS record',
  http: 'By web server rule',
  email: 'By email',
} satisfies Record<ApprovalMethod, string>;

/** RFC 3339, UTC, without fractions. */
function timestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/**
 * Approvals that have grown too old while the issuance waited for something else are looked for again.
 *
 * @param reuseMs how long an approval counts
 */
export function stillApproved(
  approvals: readonly NameApproval[],
  now: Date,
  reuseMs: number,
): readonly NameApproval[] {
  const since = timestamp(new Date(now.getTime() - reuseMs));
  return approvals.map((approval) => {
    const stale = approval.status === 'approved' && approval.checkedAt !== null && approval.checkedAt < since;
    return stale ? { ...approval, status: 'pending', method: null } : approval;
  });
}

/**
 * For how long what was found counts as found just now: an order is asked for only on what stands then, since the record may
 * have been taken away. Longer than checking a hundred names takes, and less than the first back-off (1 min), ms.
 */
const freshMs = 55_000;

/** What stands outside, and can be looked at, is looked at anew before each order; what a person said stands as said. */
export function freshlyApproved(approvals: readonly NameApproval[], now: Date): readonly NameApproval[] {
  const since = timestamp(new Date(now.getTime() - freshMs));
  return approvals.map((approval) => {
    const { status, method, checkedAt } = approval;
    const isOld = status === 'approved' && method !== 'email' && (checkedAt === null || checkedAt < since);
    return isOld ? { ...approval, status: 'pending', method: null } : approval;
  });
}
