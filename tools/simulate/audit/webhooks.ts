import type { Pool } from 'pg';
import type { SimulatedOrder } from '../users/order';
import type { ReceivedMessage } from '../world/webhook-receivers';
import { type Findings, hours, instant } from './findings';
import type { IssuedCertificate } from './issued';

/** Each attached certificate is announced to the endpoint of its account once; one that was replaced may be omitted. */
export async function auditWebhooks(
  findings: Findings,
  auditor: Pool,
  messages: readonly ReceivedMessage[],
  orders: readonly SimulatedOrder[],
  issued: ReadonlyMap<string, readonly IssuedCertificate[]>,
): Promise<void> {
  auditDoubles(findings, messages);
  const { rows } = await auditor.query<{ account_id: string }>(
    `SELECT account_id FROM webhook_endpoint WHERE NOT enabled`,
  );
  for (const { account_id } of rows)
    findings.report('wrong', 'webhooks', `account ${account_id}`, 'its endpoint was disabled');
  const byPlan = new Map<string, ReceivedMessage[]>();
  for (const message of messages)
    byPlan.set(message.planId, [...(byPlan.get(message.planId) ?? []), message]);
  for (const order of orders) {
    if (order.account.hasWebhook)
      auditOrder(findings, order, issued.get(order.planId) ?? [], byPlan.get(order.planId) ?? []);
  }
}

/** One message per change; a message may arrive twice with the same id. */
function auditDoubles(findings: Findings, messages: readonly ReceivedMessage[]): void {
  const ids = new Map<string, Set<string>>();
  for (const { id, accountId, planId, version } of messages) {
    const change = `account ${accountId}, plan ${planId}, version ${version}`;
    ids.set(change, (ids.get(change) ?? new Set<string>()).add(id));
  }
  for (const [change, own] of ids) {
    if (own.size > 1)
      findings.report('duplicated', 'webhooks', change, `arrived as ${[...own].join(' and ')}`);
  }
}

function auditOrder(
  findings: Findings,
  order: SimulatedOrder,
  own: readonly IssuedCertificate[],
  messages: readonly ReceivedMessage[],
): void {
  const outages = findings.endpointOutages(order.account.id);
  own.forEach((certificate, index) => {
    findings.checked.webhooks += 1;
    const announcedMs =
      messages.find(({ currentSha256 }) => currentSha256 === certificate.sha256)?.atMs ?? Infinity;
    const next = own[index + 1]?.createdMs ?? Infinity;
    const end = Math.min(order.deletedMs ?? findings.time.endMs, certificate.revokedMs ?? Infinity, next);
    const due = { from: certificate.createdMs, to: Math.min(announcedMs, end) };
    const late = findings.latenessMs(due, outages);
    if (late === 0) return;
    const text =
      announcedMs === Infinity
        ? `certificate ${certificate.id} of ${instant(certificate.createdMs)} was not announced`
        : `certificate ${certificate.id} was announced ${hours(late)} late`;
    findings.report(announcedMs === Infinity ? 'lost' : 'late', 'webhooks', order.name, text);
  });
}
