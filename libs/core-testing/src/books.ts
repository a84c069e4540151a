import type { DataSource } from 'typeorm';

/** What holds at every instant, whatever was repeated, refused or interrupted; each selects what breaks it. */
const rules: Readonly<Record<string, string>> = {
  'a balance is the sum of its ledger': `
    SELECT account_id FROM account_balance
    WHERE balance_cents <> (SELECT coalesce(sum(cents), 0) FROM ledger_entry
                            WHERE ledger_entry.account_id = account_balance.account_id)`,
  'no account is overdrawn beyond its credit': `
    SELECT account_id FROM account_balance WHERE balance_cents + credit_limit_cents < 0`,
  'what costs money has one entry of the ledger and one invoice, of the same amount': `
    SELECT charge.id FROM charge WHERE
      (SELECT count(*) FILTER (WHERE entry.cents = -charge.cents) FROM ledger_entry AS entry
       WHERE charge_id = charge.id AND entry.kind = 'charge') <> (charge.cents > 0)::int
      OR (SELECT count(*) FILTER (WHERE total_cents = charge.cents) FROM invoice
          WHERE charge_id = charge.id) <> (charge.cents > 0)::int`,
  'the lines of an invoice make its total': `
    SELECT number FROM invoice WHERE total_cents <> (
      SELECT sum((line ->> 'cents')::int) FROM jsonb_array_elements(lines) AS line)`,
  'a refund is made once, and is on the invoice': `
    SELECT charge.id FROM charge WHERE cents > 0 AND (
      (SELECT coalesce(sum(entry.cents), 0) FROM ledger_entry AS entry
       WHERE charge_id = charge.id AND entry.kind = 'refund')
        <> CASE WHEN refunded_at IS NULL THEN 0 ELSE charge.cents END
      OR (SELECT refunded_at IS NULL FROM invoice WHERE charge_id = charge.id) <> (refunded_at IS NULL))`,
  'invoices of an account are numbered from 1 on without gaps': `
    SELECT account_id FROM account_balance WHERE
      (SELECT coalesce(array_agg(split_part(number, '-', 2)::int ORDER BY split_part(number, '-', 2)::int), '{}')
       FROM invoice WHERE invoice.account_id = account_balance.account_id AND number LIKE account_id || '-%')
      <> ARRAY(SELECT generate_series(1, last_invoice))`,
  'what is paid is what the last charge without refund set': `
    SELECT plan.id FROM plan JOIN LATERAL (
      SELECT * FROM charge WHERE charge.plan_id = plan.id AND refunded_at IS NULL ORDER BY id DESC LIMIT 1) AS last ON true
    WHERE plan.paid_through IS NOT NULL AND (plan.paid_through, plan.paid_product) <> (last.paid_through, last.product)`,
  'nothing is paid that was not bought': `
    SELECT plan.id FROM plan WHERE paid_through IS NOT NULL
      AND NOT EXISTS (SELECT FROM charge WHERE charge.plan_id = plan.id AND refunded_at IS NULL)`,
  'a charge serves an issuance of its own plan': `
    SELECT charge.id FROM charge JOIN issuance ON issuance.id = charge.issuance_id
    WHERE issuance.plan_id <> charge.plan_id OR issuance.account_id <> charge.account_id`,
};

/** @returns violations, and where; empty: none */
export async function brokenRules(database: DataSource): Promise<readonly string[]> {
  const broken: string[] = [];
  for (const [rule, selection] of Object.entries(rules)) {
    const rows: object[] = await database.query(selection);
    if (rows.length > 0) broken.push(`${rule}: ${JSON.stringify(rows)}`);
  }
  return broken;
}
