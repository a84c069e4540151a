import type { InvoiceLine } from '@certwright/core-schema';
import type { RunningApi } from './running-api';
import type { Tenant } from './tenant';

/** What deviates from an invoice of today over one certificate. */
export interface ForgedInvoice {
  readonly lines?: readonly InvoiceLine[];
  readonly note?: string | null;
  readonly emailTo?: string | null;
  readonly issuedAt?: Date;
  readonly refundedAt?: Date | null;
}

const line: InvoiceLine = {
  description: 'example.com, one year',
  quantity: 1,
  unitCents: 1_200,
  cents: 1_200,
};

/** An invoice as a purchase writes it, with its charge; for nothing that was issued. @returns its number */
export async function forgeInvoice(
  { database }: RunningApi,
  { accountId }: Tenant,
  running: number,
  { lines = [line], note = null, emailTo = null, issuedAt, refundedAt = null }: ForgedInvoice = {},
): Promise<string> {
  const number = `${accountId}-${running}`;
  const totalCents = lines.reduce((total, { cents }) => total + cents, 0);
  await database.query(
    `WITH plan AS (
       INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token, owner)
       VALUES ($1, 1, true, false, false, gen_random_uuid(), 'certs-v2') RETURNING id),
     terms AS (
       INSERT INTO terms (plan_id, product, dns_names, key_type, csr, spki_sha256, approver_emails)
       SELECT id, 'paid_ca', '{example.com}', 'ecdsa', 'x', sha256('x'), '{}' FROM plan RETURNING id, plan_id),
     issuance AS (
       INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, closed_at)
       SELECT plan_id, $1, id, 1, 'canceled', '[]', now(), now() FROM terms RETURNING id, plan_id),
     charge AS (
       INSERT INTO charge (account_id, plan_id, made_for_issuance_id, issuance_id, kind, product, names, wildcards,
         paid_through, before, cents, currency, refunded_at)
       SELECT $1, plan_id, id, id, 'term', 'paid_ca', 1, 0, now() + interval '1 year', '{}', $4, 'USD', $8
       FROM issuance RETURNING id)
     INSERT INTO invoice (number, account_id, charge_id, lines, total_cents, currency, note, email_to, issued_at,
       refunded_at)
     SELECT $2, $1, id, $3, $4, 'USD', $5, $6, coalesce($7, now()), $8 FROM charge`,
    [accountId, number, JSON.stringify(lines), totalCents, note, emailTo, issuedAt ?? null, refundedAt],
  );
  return number;
}
