const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * Approval timeout: the issuance ends. Random values of domain validation live 30 days (Baseline Requirements
 * 3.2.2.4).
 */
export const approvalDeadlineMs = 30 * day;

/** Approval is checked again after a quarter of the issuance's age: eagerly for a person at the keyboard, hourly at the end. */
const approvalCheck = { shareOfAge: 1 / 4, minMs: 3 * second, maxMs: hour };

export function nextApprovalCheck(openedAt: Date, now: Date): Date {
  const ageMs = Math.max(0, now.getTime() - openedAt.getTime());
  const waitMs = Math.min(
    Math.max(ageMs * approvalCheck.shareOfAge, approvalCheck.minMs),
    approvalCheck.maxMs,
  );
  return new Date(now.getTime() + waitMs);
}

/**
 * An added record is looked up after a quarter of the time since it was added: most providers take seconds, few take
 * hours.
 */
const authorityLook = { shareOfAge: 1 / 4, minMs: second, maxMs: hour };

export function nextAuthorityLook(addedAt: Date, now: Date): Date {
  const ageMs = Math.max(0, now.getTime() - addedAt.getTime());
  const waitMs = Math.max(ageMs * authorityLook.shareOfAge, authorityLook.minMs);
  return new Date(now.getTime() + Math.min(waitMs, authorityLook.maxMs));
}

/** Back-off after a failure of the gateway or a provider; the last one repeats. */
const gatewayBackoffMs = [30 * second, 2 * minute, 10 * minute, hour] as const;

/**
 * @param failures failures in a row, this one included
 * @param retryAfterS requested by the remote side; null: not given
 */
export function nextRecordTry(failures: number, now: Date, retryAfterS: number | null): Date {
  const backoffStepMs = gatewayBackoffMs[failures - 1] ?? hour;
  return new Date(now.getTime() + Math.max(backoffStepMs, (retryAfterS ?? 0) * second));
}

/** Back-off after the first, second and third failure in a row; later ones wait a day. */
const backoffMs = [minute, 10 * minute, 100 * minute] as const;

/**
 * @param failures failures in a row, this one included
 * @param validUntil end of the certificate in use, if any: never wait more than a tenth of its remaining time
 */
export function nextAttempt(failures: number, now: Date, validUntil: Date | null): Date {
  const stepMs = backoffMs[failures - 1];
  if (stepMs !== undefined) return new Date(now.getTime() + stepMs);
  const leftMs = validUntil === null ? Infinity : Math.max(0, validUntil.getTime() - now.getTime());
  const waitMs = Math.max(minute, Math.min(day, leftMs / 10));
  return new Date(now.getTime() + waitMs);
}

/** Unknown cause: it may pass soon, so waiting for hours has no benefit. */
const maxUnexpectedMs = 10 * minute;

/** After a failure that is not the order's own. @param failures failures in a row, this one included */
export function nextUnexpectedAttempt(failures: number, now: Date): Date {
  return new Date(now.getTime() + Math.min(backoffMs[failures - 1] ?? maxUnexpectedMs, maxUnexpectedMs));
}

/** Attempts that transient errors of a CA ended: a quarter of the time since the first one, with 25 % jitter. */
const stall = { shareOfAge: 1 / 4, minMs: 3 * second, maxMs: minute, failureAfterMs: 15 * minute };

/**
 * When the next attempt begins after transient errors of a CA that serves others.
 *
 * @param since start of the first of such attempts in a row
 * @param random in [0, 1)
 * @returns null when it has lasted so long that the order fails
 */
export function nextAfterStall(since: Date, now: Date, random: number): Date | null {
  const ageMs = now.getTime() - since.getTime();
  if (ageMs > stall.failureAfterMs) return null;
  const waitMs = Math.min(Math.max(ageMs * stall.shareOfAge, stall.minMs), stall.maxMs);
  return new Date(now.getTime() + waitMs * (0.75 + random / 2));
}

/**
 * When an issuance for new terms is due. It waits until the settling window has passed, so that several modifications
 * in a row make one certificate. The window starts with the first one, so the delay is bounded.
 *
 * @param supersededDueAt when the open issuance that this one replaces was due; null: there is none, or it was attempted
 */
export function dueAfterModification(now: Date, settlingMs: number, supersededDueAt: Date | null): Date {
  const settled = new Date(now.getTime() + settlingMs);
  if (supersededDueAt === null || supersededDueAt.getTime() <= now.getTime()) return settled;
  return supersededDueAt.getTime() < settled.getTime() ? supersededDueAt : settled;
}
