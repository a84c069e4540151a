const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** Random values of validation by email live 30 days (Baseline Requirements, section 3.2.2.4.4). */
export const linkLifeMs = 30 * dayMs;

/** Another mail can be requested when the last one is older: mail is sometimes slow. */
const minBetweenMailsMs = 10 * minuteMs;

/** Maximum mails to one address within a day, over all accounts, so that the service cannot flood a mailbox. */
const mailsPerDay = 5;
export const throttleWindowMs = dayMs;

/** Approval state of a mailbox. */
export interface MailRequest {
  /** When the newest mail was ordered. */
  readonly askedAt: Date | null;
  /** The caller requests another one. */
  readonly askedAgain: boolean;
  readonly approvedAt: Date | null;
}

/** Whether another mail is needed for a name without approval, or with an expired one. */
export function wantsMail({ askedAt, askedAgain, approvedAt }: MailRequest, now: Date): boolean {
  if (askedAt === null) return true;
  // That mail led to the approval that has expired.
  if (approvedAt !== null && askedAt.getTime() <= approvedAt.getTime()) return true;
  const ageMs = now.getTime() - askedAt.getTime();
  return ageMs >= linkLifeMs || (askedAgain && ageMs >= minBetweenMailsMs);
}

/**
 * @param recent when each mail of the last day was ordered, oldest first
 * @returns null: a mail may be ordered now; else when the next one may
 */
export function throttledUntil(recent: readonly Date[]): Date | null {
  const inTheWay = recent.at(-mailsPerDay);
  return inTheWay === undefined ? null : new Date(inTheWay.getTime() + throttleWindowMs);
}

/**
 * When a mailbox that has not approved may be sent another mail on request.
 *
 * @param recent as for `throttledUntil`, of the same address
 * @returns null: now, or none is needed
 */
export function nextMailAt(
  { askedAt, approvedAt }: Pick<MailRequest, 'askedAt' | 'approvedAt'>,
  recent: readonly Date[],
  now: Date,
): Date | null {
  if (approvedAt !== null && askedAt !== null && approvedAt.getTime() >= askedAt.getTime()) return null;
  const spaced = askedAt === null ? now : new Date(askedAt.getTime() + minBetweenMailsMs);
  const at = latest(spaced, throttledUntil(recent) ?? now);
  return at.getTime() > now.getTime() ? at : null;
}

const latest = (one: Date, other: Date): Date => (one.getTime() > other.getTime() ? one : other);

/**
 * The statement that requests another mail to every mailbox of a plan that has not approved.
 *
 * @param planId its placeholder, `$1`
 */
export const requestMailsAgain = (planId: string) => `
  UPDATE email_approval SET asked_again = true
  WHERE plan_id = ${planId} AND asked_at < clock_timestamp() - ${minBetweenMailsMs} * interval '1 millisecond'
    AND (approved_at IS NULL OR approved_at < asked_at)`;
