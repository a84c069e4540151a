import type { Interval } from '../faults/fault-windows';
import { uncovered } from '../faults/fault-windows';
import type { SimulatedOrder } from '../users/order';
import { type Findings, hours, instant } from './findings';
import { type IssuedCertificate, usableUntil } from './issued';

const dayMs = 86_400_000;

/** Checks the certificates of one order against the requests of its users. @param own oldest first */
export function auditOrder(
  findings: Findings,
  order: SimulatedOrder,
  own: readonly IssuedCertificate[],
): void {
  findings.checked.certificates += own.length;
  if (own.length === 0) {
    const due = { from: order.createdMs, to: order.deletedMs ?? findings.time.endMs };
    const late = findings.latenessMs(due, findings.excusesOf(order));
    if (late > 0) findings.report('lost', 'certificates', order.name, 'no certificate was ever issued');
    return;
  }
  auditGaps(findings, order, own);
  auditRenewals(findings, order, own);
  auditDemands(findings, order, own);
  auditReasons(findings, order, own);
}

const endOf = (findings: Findings, { deletedMs }: SimulatedOrder) => deletedMs ?? findings.time.endMs;

/** From the first certificate until its deletion, an order always has a valid one. */
function auditGaps(findings: Findings, order: SimulatedOrder, own: readonly IssuedCertificate[]): void {
  const whole = { from: own[0]?.createdMs ?? 0, to: endOf(findings, order) };
  const covered = own.map((one): Interval => ({ from: one.createdMs, to: usableUntil(one) }));
  for (const gap of uncovered(whole, covered)) {
    const late = findings.latenessMs(gap, findings.excusesOf(order));
    if (late === 0) continue;
    const text = `without a valid certificate from ${instant(gap.from)} to ${instant(gap.to)}, ${hours(late)} of it without an excuse`;
    findings.report('lost', 'certificates', order.name, text);
  }
}

/** Time between buying a term and the end of the last certificate of the previous one. */
const purchaseLeadMs = 30 * dayMs;

/** The latest time of a replacement: a third of the lifetime is left; for the last certificate of a paid term, 97 % of 30 days. */
function renewalDue({ createdMs, notBefore, notAfter }: IssuedCertificate, { kind }: SimulatedOrder): number {
  const lifeMs = notAfter - notBefore;
  if (kind !== 'v3') return Math.max(createdMs, notAfter - 0.97 * Math.min(purchaseLeadMs, lifeMs / 3));
  return notAfter - lifeMs * (lifeMs < 10 * dayMs ? 1 / 2 : 1 / 3);
}

/** The earliest: 3 % of the lifetime before that; for the last one of a paid term, when the next term is bought. */
function renewalPossible({ notBefore, notAfter }: IssuedCertificate, { kind }: SimulatedOrder): number {
  const lifeMs = notAfter - notBefore;
  const leadMs = lifeMs * ((lifeMs < 10 * dayMs ? 1 / 2 : 1 / 3) + 3 / 100);
  return notAfter - (kind === 'v3' ? leadMs : Math.max(leadMs, purchaseLeadMs));
}

function auditRenewals(findings: Findings, order: SimulatedOrder, own: readonly IssuedCertificate[]): void {
  own.forEach((certificate, index) => {
    const due = renewalDue(certificate, order);
    const next = own[index + 1];
    const end = endOf(findings, order);
    const isReplaced = next !== undefined && next.createdMs <= due;
    const isRevoked = certificate.revokedMs !== null && certificate.revokedMs <= due;
    if (isReplaced || isRevoked || due >= end) return;
    const done = next?.createdMs ?? end;
    const late = findings.latenessMs({ from: due, to: done }, findings.excusesOf(order));
    if (late === 0) return;
    const what = `certificate ${certificate.id} was due for renewal by ${instant(due)}`;
    if (next === undefined)
      findings.report('lost', 'certificates', order.name, `${what} and was not renewed`);
    else
      findings.report(
        'late',
        'certificates',
        order.name,
        `${what} and was renewed at ${instant(done)}, ${hours(late)} late`,
      );
  });
}

/** Each request leads to a certificate for it, unless another request follows. */
function auditDemands(findings: Findings, order: SimulatedOrder, own: readonly IssuedCertificate[]): void {
  order.demands.forEach(({ atMs, why, dnsNames, spkiSha256 }, index) => {
    const made = own.find(
      (one) => one.createdMs >= atMs && one.spkiSha256 === spkiSha256 && sameNames(one.dnsNames, dnsNames),
    );
    const next = order.demands[index + 1]?.atMs ?? Infinity;
    const done = Math.min(
      ...[made?.createdMs ?? Infinity, next, endOf(findings, order), approvalTimeout(order, atMs)],
    );
    const late = findings.latenessMs({ from: atMs, to: done }, findings.excusesOf(order));
    if (late === 0) return;
    const fate = made === undefined ? 'lost' : 'late';
    const text = `${why} of ${instant(atMs)} led to ${made === undefined ? 'no certificate' : `certificate ${made.id} ${hours(late)} late`}`;
    findings.report(fate, 'certificates', order.name, text);
  });
}

/** Issuances that are not approved within 30 days end; their users request them again. */
function approvalTimeout({ excuses }: SimulatedOrder, atMs: number): number {
  const timeoutMs = atMs + 30 * dayMs;
  const isMissing = excuses.some(
    ({ why, from, to }) => why === 'not approved' && from <= timeoutMs && timeoutMs < to,
  );
  return isMissing ? timeoutMs : Infinity;
}

/** Every certificate has exactly one reason: a request, or a predecessor that was due. */
function auditReasons(findings: Findings, order: SimulatedOrder, own: readonly IssuedCertificate[]): void {
  let demanded = 0;
  let renewed = -1;
  own.forEach((certificate, index) => {
    const before = demanded;
    while ((order.demands[demanded]?.atMs ?? Infinity) <= certificate.createdMs) demanded += 1;
    if (demanded > before) return;
    for (let earlier = index - 1; earlier > renewed; earlier -= 1) {
      const replaced = own[earlier];
      if (replaced === undefined || renewalPossible(replaced, order) > certificate.createdMs) continue;
      renewed = earlier;
      return;
    }
    const text = `certificate ${certificate.id} of ${instant(certificate.createdMs)} was neither due nor requested`;
    findings.report('duplicated', 'certificates', order.name, text);
  });
}

const sameNames = (some: readonly string[], others: readonly string[]) =>
  some.length === others.length && some.every((name) => others.includes(name));

/** The current certificate is the newest valid one for the names and the key of the order, else the one that lasts longest. */
export function auditCurrent(
  findings: Findings,
  order: SimulatedOrder,
  own: readonly IssuedCertificate[],
): void {
  if (order.deletedMs !== null) return;
  const { endMs } = findings.time;
  // The last second belongs to the validity (RFC 5280, 4.1.2.5).
  const valid = own.filter(({ notAfter, revokedMs }) => notAfter >= endMs && revokedMs === null);
  const matching = valid.filter(
    (one) => one.spkiSha256 === order.request.spkiSha256 && sameNames(one.dnsNames, order.dnsNames),
  );
  const newest = Math.max(...matching.map(({ notBefore }) => notBefore));
  const longest = Math.max(...valid.map(({ notAfter }) => notAfter));
  const best = valid.filter((one) =>
    matching.length > 0 ? matching.includes(one) && one.notBefore === newest : one.notAfter === longest,
  );
  const current = own.filter(({ isCurrent }) => isCurrent);
  const isRight =
    best.length === 0 ? current.length === 0 : current.length === 1 && best.some((one) => one === current[0]);
  if (isRight) return;
  const text = `certificate ${current.map(({ id }) => id).join(', ') || 'none'} is the current one in place of ${best.map(({ id }) => id).join(', ') || 'none'}`;
  findings.report('wrong', 'certificates', order.name, text);
}
