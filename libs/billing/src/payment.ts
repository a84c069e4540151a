import { Problem } from '@certwright/errors';
import { amountText, type Purchase } from '@certwright/issuance';
import type { Tx } from '@certwright/core-schema';
import { balanceOf } from './balances';

export interface Payment {
  readonly accountId: string;
  readonly chargeId: string;
  readonly purchase: Purchase;
  /** Of the invoice, in the words of the buyer. */
  readonly note: string | null;
  readonly emailTo: string | null;
}

/** Digits of a running number; larger ones have more. */
const numberDigits = 4;

/**
 * The balance is looked at and changed by one statement that holds its row: purchases at the same time never overdraw,
 * and numbers of invoices have no gaps.
 */
const statement = `
  WITH held AS (
    UPDATE account_balance SET balance_cents = balance_cents - $2, last_invoice = last_invoice + 1
    WHERE account_id = $1 AND currency = $3 AND balance_cents + credit_limit_cents >= $2
    RETURNING last_invoice::text AS running),
  numbered AS (
    SELECT $1::bigint::text || '-' || lpad(running, greatest(${numberDigits}, length(running)), '0') AS number FROM held),
  entered AS (
    INSERT INTO ledger_entry (account_id, kind, cents, currency, charge_id, note)
    SELECT $1, 'charge', -$2::bigint, $3, $4, 'invoice ' || number FROM numbered)
  INSERT INTO invoice (number, account_id, charge_id, lines, total_cents, currency, note, email_to, issued_at)
  SELECT number, $1, $4, $5, $2, $3, $6, $7, clock_timestamp() FROM numbered RETURNING number`;

/**
 * Takes the price of a charge from the account and writes the invoice.
 *
 * @returns the invoice's number
 * @throws Problem `payment_required`; the caller's transaction must not be committed then
 */
export async function pay(tx: Tx, payment: Payment): Promise<string> {
  const { accountId, chargeId, purchase, note, emailTo } = payment;
  const { cents, currency, lines } = purchase;
  const [row] = await tx.query<[{ number: string }?]>(statement, [
    ...[accountId, cents, currency, chargeId],
    ...[JSON.stringify(lines), note, emailTo],
  ]);
  if (row === undefined) throw await unpaid(tx, accountId, purchase);
  return row.number;
}

async function unpaid(tx: Tx, accountId: string, { cents, currency }: Purchase): Promise<Problem> {
  const balance = await balanceOf(tx, accountId, currency);
  const due = amountText(cents, currency);
  if (balance.currency !== currency) {
    return new Problem(
      'payment_required',
      `${due} is due, but the account is kept in ${balance.currency}. Please ask the operator.`,
    );
  }
  const available = amountText(balance.balanceCents + balance.creditLimitCents, currency);
  return new Problem(
    'payment_required',
    `${due} is due, and ${available} is available. Please add to the balance of the account.`,
  );
}
