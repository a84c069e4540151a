import type { SimulatedOrder } from '../users/order';
import type { TakenMail } from '../world/mail-server';
import { type Findings, hours, instant } from './findings';
import type { IssuedCertificate } from './issued';
import type { Crossing } from './observations';

const dayMs = 86_400_000;

const thresholds = [30, 14, 7, 3, 1];

export interface NoticeFacts {
  readonly crossings: readonly Crossing[];
  readonly mails: readonly TakenMail[];
  readonly orders: ReadonlyMap<string, SimulatedOrder>;
  readonly issued: ReadonlyMap<string, readonly IssuedCertificate[]>;
}

/** One mail for every threshold that a certificate in use passes, and none for one that was replaced. */
export function auditNotices(findings: Findings, facts: NoticeFacts): void {
  const notices = facts.mails.filter(({ kind }) => kind === 'expiration-notice');
  const byThreshold = new Map<string, TakenMail[]>();
  for (const mail of notices) {
    const key = keyOf(String(mail.facts['certificateId']), Number(mail.facts['thresholdDays']));
    byThreshold.set(key, [...(byThreshold.get(key) ?? []), mail]);
  }
  for (const [key, mails] of byThreshold) {
    const messages = new Set(mails.map(({ messageId }) => messageId));
    if (messages.size > 1)
      findings.report('duplicated', 'notices', key, `${messages.size} different mails were sent`);
  }
  const certificates = new Map([...facts.issued.values()].flat().map((one) => [one.id, one]));
  for (const mail of notices) auditMail(findings, mail, certificates, facts);
  for (const crossing of facts.crossings) {
    findings.checked.notices += 1;
    auditCrossing(
      findings,
      crossing,
      byThreshold.get(keyOf(crossing.certificateId, crossing.days)) ?? [],
      facts,
    );
  }
}

const keyOf = (certificateId: string, days: number) => `certificate ${certificateId}, ${days} days`;

function auditMail(
  findings: Findings,
  mail: TakenMail,
  certificates: ReadonlyMap<string, IssuedCertificate>,
  { issued }: NoticeFacts,
): void {
  const id = String(mail.facts['certificateId']);
  const days = Number(mail.facts['thresholdDays']);
  const certificate = certificates.get(id);
  if (certificate === undefined || mail.createdMs < certificate.notAfter - days * dayMs) {
    findings.report('wrong', 'notices', keyOf(id, days), `mail at ${instant(mail.createdMs)}, too early`);
    return;
  }
  // A certificate that was replaced in the same step may have got its mail before.
  const inTheSameInstant = (issued.get(certificate.planId) ?? []).some(
    ({ createdMs }) => createdMs === mail.atMs,
  );
  const isRevokedThen = certificate.revokedMs === mail.atMs;
  if (mail.isCurrent || inTheSameInstant || isRevokedThen) return;
  findings.report(
    'wrong',
    'notices',
    keyOf(id, days),
    `mail at ${instant(mail.atMs)}, after it was replaced`,
  );
}

function auditCrossing(
  findings: Findings,
  { certificateId, days, planId, atMs }: Crossing,
  mails: readonly TakenMail[],
  { orders, issued }: NoticeFacts,
): void {
  const order = orders.get(planId);
  const own = issued.get(planId) ?? [];
  const index = own.findIndex(({ id }) => id === certificateId);
  const certificate = own[index];
  if (order === undefined || certificate === undefined) return;
  const muted = order.mutes.find(({ from }) => from >= atMs)?.from ?? Infinity;
  const sent = mails[0]?.atMs ?? Infinity;
  const needless = Math.min(
    // The mail of the next threshold takes its place.
    certificate.notAfter - (thresholds.find((next) => next < days) ?? 0) * dayMs,
    own.slice(index + 1).find(({ createdMs }) => createdMs >= atMs)?.createdMs ?? Infinity,
    ...[certificate.revokedMs ?? Infinity, certificate.notAfter, order.deletedMs ?? Infinity, muted],
    findings.time.endMs,
  );
  const late = findings.latenessMs({ from: atMs, to: Math.min(sent, needless) }, findings.mailOutages());
  if (late === 0) return;
  const fate = mails.length === 0 ? 'lost' : 'late';
  const passed = `of ${order.name}, passed at ${instant(atMs)}`;
  const [first] = mails;
  const text =
    first === undefined
      ? `${passed}: no mail was sent`
      : `${passed}: the mail of ${instant(first.createdMs)} was sent at ${instant(first.atMs)}, ${hours(late)} late`;
  findings.report(fate, 'notices', keyOf(certificateId, days), text);
}
