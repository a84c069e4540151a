import type { Pool } from 'pg';
import type { FaultWindows, SimulatedTime } from '../faults/fault-windows';
import type { SimulatedAccount } from '../users/accounts';
import type { SimulatedOrder } from '../users/order';
import type { FaultyAuthority } from '../world/faulty-authority';
import type { TakenMail } from '../world/mail-server';
import type { ReceivedMessage } from '../world/webhook-receivers';
import { auditCurrent, auditOrder } from './certificates';
import { Findings, instant } from './findings';
import { issuedByPlan } from './issued';
import { auditLeftovers, auditSignings } from './leftovers';
import { auditMoney } from './money';
import { auditNotices } from './notices';
import type { Observations } from './observations';
import { auditRevocationLists } from './revocation-lists';
import { auditWebhooks } from './webhooks';

export interface AuditedFacts {
  readonly auditor: Pool;
  readonly time: SimulatedTime;
  readonly stepMs: number;
  readonly windows: FaultWindows;
  readonly accounts: readonly SimulatedAccount[];
  readonly orders: readonly SimulatedOrder[];
  readonly observations: Observations;
  readonly authority: FaultyAuthority;
  readonly mails: readonly TakenMail[];
  readonly messages: readonly ReceivedMessage[];
}

/** Compares the result with the rules. */
export async function audit(
  facts: AuditedFacts,
): Promise<Pick<Findings, 'checked' | 'violations'> & { readonly histories: readonly string[] }> {
  const { auditor, observations, orders, messages, mails, authority } = facts;
  const findings = new Findings(facts.time, facts.windows, facts.stepMs);
  const issued = await issuedByPlan(auditor);
  const byPlan = new Map(orders.map((order) => [order.planId, order]));
  for (const order of orders) {
    const own = issued.get(order.planId) ?? [];
    auditOrder(findings, order, own);
    auditCurrent(findings, order, own);
  }
  for (const [planId, atMs] of observations.withoutCurrent) {
    const at = new Date(atMs).toISOString();
    findings.report(
      'wrong',
      'certificates',
      `plan ${planId}`,
      `at ${at} it has a valid certificate but no current one`,
    );
  }
  await auditSignings(findings, auditor, authority, issued);
  auditNotices(findings, { crossings: observations.crossings, mails, orders: byPlan, issued });
  auditRevocationLists(findings, observations, issued, orders);
  await auditMoney(findings, auditor, facts.accounts, byPlan);
  await auditWebhooks(findings, auditor, messages, orders, issued);
  await auditLeftovers(findings, auditor, byPlan);
  const { checked, violations } = findings;
  const found = new Set(violations.map(({ id }) => id));
  const histories = orders.filter(({ name }) => found.has(name)).map(historyOf);
  return { checked, violations, histories };
}

/** User actions of an order with violations, for diagnosis. */
function historyOf({ name, kind, demands, excuses, mutes, account }: SimulatedOrder): string {
  const spans = [
    ...excuses,
    ...mutes.map((mute) => ({ ...mute, why: 'muted' })),
    ...(kind === 'v3' ? [] : account.unpaid.map((one) => ({ ...one, why: 'not paid' }))),
  ];
  return [
    `${name} (${kind}, account ${account.id}):`,
    ...demands.map(({ why, atMs }) => `  ${instant(atMs)} ${why}`),
    ...spans.map(
      ({ why, from, to }) => `  ${instant(from)} to ${to === Infinity ? 'the end' : instant(to)} ${why}`,
    ),
  ].join('\n');
}
