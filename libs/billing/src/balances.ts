import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Tx } from '@certwright/core-schema';

/** Amounts in hundredths of the currency. */
export interface Balance {
  /** Below zero: owed by the account. */
  readonly balanceCents: number;
  readonly creditLimitCents: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** Shown for an account without a balance while products are sold in several currencies. */
const defaultCurrency = 'USD';

interface BalanceRow {
  readonly balance_cents: string;
  readonly credit_limit_cents: string;
  readonly currency: string;
}

/** @param currency of an account that never had money on it; omitted: that of the products */
export async function balanceOf(
  reader: Pick<Tx, 'query'>,
  accountId: string,
  currency?: string,
): Promise<Balance> {
  const [row] = await reader.query<BalanceRow[]>(
    `SELECT balance_cents, credit_limit_cents, currency FROM account_balance WHERE account_id = $1`,
    [accountId],
  );
  if (row === undefined) {
    const shown = currency ?? onlyOne(await soldCurrencies(reader)) ?? defaultCurrency;
    return { balanceCents: 0, creditLimitCents: 0, currency: shown };
  }
  return {
    balanceCents: Number(row.balance_cents),
    creditLimitCents: Number(row.credit_limit_cents),
    currency: row.currency,
  };
}

/** What accounts have left. */
@Injectable()
export class Balances {
  constructor(private readonly database: DataSource) {}

  async of(accountId: string): Promise<Balance> {
    return await balanceOf(this.database, accountId);
  }

  /**
   * How far the account may go below nothing; what it owes already stays.
   *
   * @param currency null: that of the account
   * @throws Error as `holdBalance`
   */
  async setCreditLimit(tx: Tx, accountId: string, cents: number, currency: string | null): Promise<void> {
    await holdBalance(tx, accountId, currency);
    await tx.query(`UPDATE account_balance SET credit_limit_cents = $2 WHERE account_id = $1`, [
      accountId,
      cents,
    ]);
  }
}

/**
 * Locks the balance of an account, and creates it where there is none. Its currency is that of its first amount, a
 * ledger entry or a credit limit above 0, and stays.
 *
 * @param currency null: that of the account; of a new one, that of the products
 * @returns the currency of the account
 * @throws Error when the account is kept in another currency, or has none and products are sold in several
 */
export async function holdBalance(tx: Tx, accountId: string, currency: string | null): Promise<string> {
  const held = (await lockedCurrency(tx, accountId)) ?? (await createdCurrency(tx, accountId, currency));
  if (currency === null || held === currency) return held;
  const [[changed]] = await tx.query<[[object?], number]>(
    `UPDATE account_balance SET currency = $2 WHERE account_id = $1 AND credit_limit_cents = 0
       AND NOT EXISTS (SELECT FROM ledger_entry WHERE account_id = $1) RETURNING currency`,
    [accountId, currency],
  );
  if (changed === undefined) throw new Error(`Account ${accountId} is kept in ${held}, not in ${currency}.`);
  return currency;
}

async function lockedCurrency(tx: Tx, accountId: string): Promise<string | undefined> {
  const [held] = await tx.query<[{ currency: string }?]>(
    `SELECT currency FROM account_balance WHERE account_id = $1 FOR UPDATE`,
    [accountId],
  );
  return held?.currency;
}

/** @returns that of another transaction, if it has created the balance meanwhile */
async function createdCurrency(tx: Tx, accountId: string, currency: string | null): Promise<string> {
  const wanted = currency ?? (await currencyOfNew(tx, accountId));
  await tx.query(
    `INSERT INTO account_balance (account_id, currency) VALUES ($1, $2) ON CONFLICT (account_id) DO NOTHING`,
    [accountId, wanted],
  );
  return (await lockedCurrency(tx, accountId)) ?? wanted;
}

async function currencyOfNew(tx: Tx, accountId: string): Promise<string> {
  const sold = await soldCurrencies(tx);
  const currency = onlyOne(sold);
  if (currency === undefined) {
    const why = sold.length === 0 ? 'no product is sold' : `products are sold in ${sold.join(', ')}`;
    throw new Error(`Account ${accountId} has no currency yet, and ${why}: name its currency.`);
  }
  return currency;
}

/** Currencies of the products that are sold. */
async function soldCurrencies(reader: Pick<Tx, 'query'>): Promise<readonly string[]> {
  const rows = await reader.query<{ currency: string }[]>(
    `SELECT DISTINCT currency FROM product WHERE available AND term_days IS NOT NULL ORDER BY currency`,
  );
  return rows.map(({ currency }) => currency);
}

const onlyOne = ([first, ...others]: readonly string[]): string | undefined =>
  others.length === 0 ? first : undefined;
