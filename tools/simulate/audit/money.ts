import type { Pool } from 'pg';
import type { SimulatedAccount } from '../users/accounts';
import { type SimulatedOrder } from '../users/order';
import { type Findings, instant } from './findings';

const dayMs = 86_400_000;

interface ChargeRow {
  readonly id: string;
  readonly plan_id: string;
  readonly account_id: string;
  readonly kind: string;
  readonly cents: number;
  readonly paid_through: Date;
  readonly created_at: Date;
  readonly refunded: boolean;
  readonly state: string;
  /** A failed renewal that is retried keeps its charge. */
  readonly retried: boolean;
  readonly charged: string[];
  readonly returned: string[];
  readonly invoices: string;
}

/** Every charge has one ledger entry, every term one charge, and the sum of each ledger is the balance. */
export async function auditMoney(
  findings: Findings,
  auditor: Pool,
  accounts: readonly SimulatedAccount[],
  orders: ReadonlyMap<string, SimulatedOrder>,
): Promise<void> {
  await auditBalances(findings, auditor, accounts);
  const { rows } = await auditor.query<ChargeRow>(
    `SELECT charge.id, charge.plan_id, charge.account_id, kind, cents, paid_through, created_at,
       refunded_at IS NOT NULL AS refunded, issuance.state,
       issuance.state = 'failed' AND EXISTS (
         SELECT FROM certificate JOIN plan ON plan.id = certificate.plan_id
         WHERE certificate.id = issuance.replaces_certificate_id AND is_current AND not_after > now()
           AND auto_renew AND NOT paused AND plan.closed_at IS NULL) AS retried,
       ARRAY(SELECT cents::text FROM ledger_entry WHERE charge_id = charge.id AND kind = 'charge') AS charged,
       ARRAY(SELECT cents::text FROM ledger_entry WHERE charge_id = charge.id AND kind = 'refund') AS returned,
       (SELECT count(*) FROM invoice WHERE charge_id = charge.id) AS invoices
     FROM charge JOIN issuance ON issuance.id = charge.issuance_id ORDER BY charge.id`,
  );
  for (const row of rows) auditCharge(findings, row);
  const byPlan = new Map<string, ChargeRow[]>();
  for (const row of rows) {
    if (row.kind === 'term' && !row.refunded)
      byPlan.set(row.plan_id, [...(byPlan.get(row.plan_id) ?? []), row]);
  }
  for (const [planId, terms] of byPlan) auditTerms(findings, planId, terms, orders.get(planId));
}

async function auditBalances(
  findings: Findings,
  auditor: Pool,
  accounts: readonly SimulatedAccount[],
): Promise<void> {
  const { rows } = await auditor.query<{ id: string; balance: string; sum: string; payments: string[] }>(
    `SELECT account.id, coalesce(balance_cents, 0) AS balance,
       coalesce((SELECT sum(cents) FROM ledger_entry WHERE account_id = account.id), 0) AS sum,
       ARRAY(SELECT cents::text FROM ledger_entry WHERE account_id = account.id AND kind = 'payment' ORDER BY id) AS payments
     FROM account LEFT JOIN account_balance ON account_balance.account_id = account.id WHERE account.id <> 0`,
  );
  const balances = new Map(rows.map((row) => [row.id, row]));
  for (const { id, payments } of accounts) {
    findings.checked.money += 1;
    const row = balances.get(id);
    if (row === undefined) findings.report('lost', 'money', `account ${id}`, 'the account does not exist');
    else {
      if (row.balance !== row.sum)
        findings.report(
          'wrong',
          'money',
          `account ${id}`,
          `the sum of the ledger is ${row.sum}, the balance is ${row.balance}`,
        );
      const entered = row.payments.map(Number);
      if (entered.length !== payments.length || entered.some((cents, n) => cents !== payments[n])) {
        const fate = entered.length > payments.length ? 'duplicated' : 'lost';
        const text = `${payments.length} payments, but ${entered.length} ledger entries`;
        findings.report(fate, 'money', `account ${id}`, text);
      }
    }
  }
}

function auditCharge(findings: Findings, row: ChargeRow): void {
  findings.checked.money += 1;
  const id = `charge ${row.id}`;
  const entered = row.charged.map(Number);
  if (entered.length > 1) findings.report('duplicated', 'money', id, `has ${entered.length} ledger entries`);
  else if (row.cents > 0 && entered[0] !== -row.cents)
    findings.report(
      'lost',
      'money',
      id,
      `the ledger entry is ${entered[0] ?? 'missing'} instead of ${row.cents}`,
    );
  if (Number(row.invoices) !== (row.cents > 0 ? 1 : 0))
    findings.report(
      Number(row.invoices) > 1 ? 'duplicated' : 'lost',
      'money',
      id,
      `has ${row.invoices} invoices`,
    );
  const returned = row.returned.map(Number);
  if (returned.length > 1)
    findings.report('duplicated', 'money', id, `has ${returned.length} refunds in the ledger`);
  if (row.refunded !== returned.length > 0 && row.cents > 0)
    findings.report('lost', 'money', id, 'its refund has no ledger entry');
  if (!row.refunded && !row.retried && !['issued', 'open'].includes(row.state))
    findings.report('lost', 'money', id, `its issuance ended as ${row.state}, but it was not refunded`);
}

/** Automatic renewal buys a term when the previous one has 30 days left, or a third of a short one. */
function auditTerms(
  findings: Findings,
  planId: string,
  terms: readonly ChargeRow[],
  order: SimulatedOrder | undefined,
): void {
  const name = order?.name ?? `plan ${planId}`;
  terms.forEach((term, index) => {
    const before = terms[index - 1];
    const isAsked = order?.demands.some(
      ({ atMs, why }) =>
        ['create', 'recover', 'renew again'].includes(why) && atMs === term.created_at.getTime(),
    );
    if (index === 0 || before === undefined || isAsked === true) return;
    // 30 days of the current certificate, which may end a little before the term.
    if (term.created_at.getTime() >= before.paid_through.getTime() - 32 * dayMs) return;
    const text = `a term that ends at ${instant(before.paid_through.getTime())} was renewed at ${instant(term.created_at.getTime())} by charge ${term.id}`;
    findings.report('duplicated', 'money', name, text);
  });
}
