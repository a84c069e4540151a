import { type Certificate, certificateState } from './certificate';

/** Days before the end of the current certificate at which its owner is notified. */
export const noticeThresholdsDays = [30, 14, 7, 3, 1] as const;
export type NoticeThresholdDays = (typeof noticeThresholdsDays)[number];

const dayMs = 86_400_000;

/** The thresholds that a certificate has passed, the nearest to its end first. */
function passedThresholds(
  certificate: Pick<Certificate, 'notBefore' | 'notAfter' | 'revokedAt'>,
  now: Date,
): readonly NoticeThresholdDays[] {
  if (certificateState(certificate, now) !== 'valid') return [];
  const lifetimeMs = certificate.notAfter.getTime() - certificate.notBefore.getTime();
  const leftMs = certificate.notAfter.getTime() - now.getTime();
  return noticeThresholdsDays
    .filter((days) => days * dayMs < lifetimeMs && leftMs <= days * dayMs)
    .sort((one, other) => one - other);
}

export interface NoticeInputs {
  readonly certificate: Pick<Certificate, 'notBefore' | 'notAfter' | 'revokedAt'>;
  readonly muted: boolean;
  /** Thresholds that are dealt with already. */
  readonly noticed: readonly number[];
}

export interface NoticeDecision {
  /** Threshold to send a mail for; null: no mail. */
  readonly mail: NoticeThresholdDays | null;
  /** Dealt with from now on. */
  readonly mark: readonly NoticeThresholdDays[];
}

/**
 * At most one mail, for the threshold nearest to the end: when several have passed, the larger ones add no
 * information. Thresholds that pass while the plan is muted count as handled, so unmuting sends no mail at once.
 */
export function noticeDecision({ certificate, muted, noticed }: NoticeInputs, now: Date): NoticeDecision {
  const mark = passedThresholds(certificate, now).filter((days) => !noticed.includes(days));
  const [nearest] = passedThresholds(certificate, now);
  const isNew = nearest !== undefined && mark.includes(nearest);
  return { mail: isNew && !muted ? nearest : null, mark };
}

/** Whether a notice was not sent before the next threshold passed, for which there is another one. */
export function isOvertaken(thresholdDays: number, notAfter: Date, now: Date): boolean {
  const leftMs = notAfter.getTime() - now.getTime();
  return noticeThresholdsDays.some((days) => days < thresholdDays && leftMs <= days * dayMs);
}
