import type { HostCheck } from './check-host';
import type { EndpointFinding, EndpointState, FindingCode, TrackedFinding } from './finding';

/** Checks in a row that confirm a finding, and as many confirm that it is gone. */
export const agreeingChecks = 3;

/** When a finding is reported. */
type Rule =
  | { readonly report: 'confirmed' }
  /** By the first check: nothing about it can be a fault of the network. */
  | { readonly report: 'at_once' }
  | { readonly report: 'after_a_day' }
  | { readonly report: 'never' };

const rules: Readonly<Record<FindingCode, Rule>> = {
  expired: { report: 'confirmed' },
  not_yet_valid: { report: 'confirmed' },
  expiring: { report: 'at_once' },
  wrong_name: { report: 'confirmed' },
  incomplete_chain: { report: 'confirmed' },
  untrusted: { report: 'confirmed' },
  self_signed: { report: 'confirmed' },
  weak: { report: 'confirmed' },
  revoked: { report: 'confirmed' },
  // The check finds it after the grace time only.
  not_current: { report: 'at_once' },
  unknown_key: { report: 'at_once' },
  addresses_differ: { report: 'never' },
  dangling: { report: 'confirmed' },
  unreachable: { report: 'after_a_day' },
};

const dayMs = 86_400_000;

/** `unreachable` is reported for what was served within this time, ms. */
const servedWithinMs = 7 * dayMs;

/** What is stored of an endpoint between checks. */
export interface EndpointProgress {
  readonly findings: readonly TrackedFinding[];
  /** The last check before this one in which a certificate was presented; null: none. */
  readonly servedAt: Date | null;
}

export interface EndpointAdvance {
  /** To be stored, without those in `toWithdraw`. Nothing in it is marked as reported yet: see `markReported`. */
  readonly findings: readonly TrackedFinding[];
  /** Of findings. */
  readonly toReport: readonly TrackedFinding[];
  /** Reported before, and gone. */
  readonly toWithdraw: readonly TrackedFinding[];
  readonly state: EndpointState;
  /** It has a finding that is reported if it stays. */
  readonly isBad: boolean;
  /** The next check should follow soon: a finding, or its end, is not confirmed. */
  readonly isOpen: boolean;
}

/**
 * Combines the findings so far with those of a new check. Three checks in a row confirm a finding, and three without it
 * withdraw it, so that a host that changes back and forth is reported at most once. A check that says nothing changes nothing.
 *
 * @returns null for a check that says nothing
 */
export function advance(
  { findings: previous, servedAt }: EndpointProgress,
  check: HostCheck,
  now: Date,
): EndpointAdvance | null {
  if (check.outcome === 'unknown') return null;
  const found = new Map(check.findings.map((finding) => [keyOf(finding), finding]));
  const findings: TrackedFinding[] = [];
  const toWithdraw: TrackedFinding[] = [];
  for (const before of previous) {
    const again = found.get(keyOf(before));
    found.delete(keyOf(before));
    if (again !== undefined) findings.push(seenAgain(before, again));
    else if (isUndecided(before, check)) findings.push(before);
    else if (isReplaced(before, check.findings)) continue;
    else {
      const missing = before.missing + 1;
      if (isConfirmed(before) && missing < agreeingChecks) findings.push({ ...before, missing });
      else if (before.reportedAt !== null) toWithdraw.push({ ...before, missing });
    }
  }
  for (const finding of found.values()) findings.push(firstSeen(finding, now));
  const wasServedAt = check.outcome === 'served' ? now : servedAt;
  const toReport = findings.filter((finding) => isDue(finding, now, wasServedAt));
  return {
    findings,
    toReport,
    toWithdraw,
    state: stateOf(findings, check),
    isBad: isBad(findings),
    isOpen: findings.some((finding) => finding.missing > 0 || isSuspected(finding)),
  };
}

/** Marks what the account was notified of, in the transaction that does it. */
export function markReported(
  findings: readonly TrackedFinding[],
  reported: readonly TrackedFinding[],
  now: Date,
): readonly TrackedFinding[] {
  const keys = new Set(reported.map(keyOf));
  return findings.map((finding) =>
    keys.has(keyOf(finding))
      ? { ...finding, reportedAt: now.toISOString(), reportedLevel: finding.level }
      : finding,
  );
}

/**
 * What is stored instead of `findings` while nothing may be reported: those to withdraw too, so that a later check without
 * them withdraws them.
 */
export const withoutReports = ({ findings, toWithdraw }: EndpointAdvance): readonly TrackedFinding[] => [
  ...findings,
  ...toWithdraw,
];

/** Whether one of them is reported if it stays. */
export const isBad = (findings: readonly EndpointFinding[]): boolean =>
  findings.some(({ code }) => rules[code].report !== 'never');

const keyOf = ({ code, port }: EndpointFinding): string => `${code} ${port ?? ''}`;

const firstSeen = (finding: EndpointFinding, now: Date): TrackedFinding => ({
  ...finding,
  since: now.toISOString(),
  agreeing: 1,
  missing: 0,
  reportedAt: null,
  reportedLevel: 0,
});

const seenAgain = (before: TrackedFinding, again: EndpointFinding): TrackedFinding => ({
  ...before,
  ...again,
  agreeing: Math.min(before.agreeing + 1, agreeingChecks),
  missing: 0,
});

/** Always, if it is reported by another rule than by the number of checks. */
export const isConfirmed = ({ code, agreeing }: TrackedFinding): boolean =>
  rules[code].report !== 'confirmed' || agreeing >= agreeingChecks;

/** A finding that the next checks confirm or not. */
const isSuspected = (finding: TrackedFinding): boolean => !isConfirmed(finding);

/**
 * While nothing is presented, nothing shows that a problem is solved. A name without addresses serves nothing, so what its
 * servers presented is no problem any more; that they cannot be reached still is one.
 */
function isUndecided(
  { port, code }: TrackedFinding,
  { outcome, undecidedPorts, undecided }: HostCheck,
): boolean {
  if (port === null) return false;
  if (code === 'unreachable') return outcome === 'gone';
  if (undecided.some((each) => each.code === code && each.port === port)) return true;
  return outcome !== 'gone' && undecidedPorts.includes(port);
}

/** What expires ends by expiring: that is no recovery. */
const isReplaced = ({ code, port }: TrackedFinding, found: readonly EndpointFinding[]): boolean =>
  code === 'expiring' && found.some((other) => other.code === 'expired' && other.port === port);

function isDue(finding: TrackedFinding, now: Date, servedAt: Date | null): boolean {
  const { code, since, missing, reportedAt, level, reportedLevel } = finding;
  if (missing > 0 || (reportedAt !== null && level <= reportedLevel)) return false;
  switch (rules[code].report) {
    case 'never':
      return false;
    case 'after_a_day':
      return (
        now.getTime() - Date.parse(since) >= dayMs &&
        servedAt !== null &&
        now.getTime() - servedAt.getTime() <= servedWithinMs
      );
    case 'at_once':
    case 'confirmed':
      return isConfirmed(finding);
  }
}

function stateOf(findings: readonly TrackedFinding[], { outcome }: HostCheck): EndpointState {
  const reportable = findings.filter(({ code }) => rules[code].report !== 'never' && code !== 'unreachable');
  if (reportable.some(isConfirmed)) return 'failing';
  if (outcome === 'gone') return 'gone';
  if (outcome === 'unreachable') return 'unreachable';
  return reportable.length > 0 || findings.some(({ code }) => code === 'unreachable') ? 'suspect' : 'ok';
}
