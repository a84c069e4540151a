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

/** Of an account that never had money on it. */
const nothing: Balance = { balanceCents: 0, creditLimitCents: 0, currency: 'USD' };

interface BalanceRow {
  readonly balance_cents: string;
  readonly credit_limit_cents: string;
  readonly currency: string;
}

/** @param currency of an account that never had money on it */
export async function balanceOf(
  reader: Pick<Tx, 'query'>,
  accountId: string,
  currency = nothing.currency,
): Promise<Balance> {
  const [row] = await reader.query<BalanceRow[]>(
    `SELECT balance_cents, credit_limit_cents, currency FROM account_balance WHERE account_id = $1`,
    [accountId],
  );
  if (row === undefined) return { ...nothing, currency };
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

  async of(accountId: string, reader: Pick<Tx, 'query'> = this.database): Promise<Balance> {
    return await balanceOf(reader, accountId);
  }

  /**
   * How far the account may go below nothing; what it owes already stays.
   *
   * @param currency of a new balance; the one that is there must have the same
   * @throws Error when it is kept in another currency
   */
  async setCreditLimit(tx: Tx, accountId: string, cents: number, currency: string): Promise<void> {
    await holdBalance(tx, accountId, currency);
    await tx.query(`UPDATE account_balance SET credit_limit_cents = $2 WHERE account_id = $1`, [
      accountId,
      cents,
    ]);
  }
}

/** Makes the balance where there is none, and holds its row. @throws Error when it is kept in another currency */
export async function holdBalance(tx: Tx, accountId: string, currency: string): Promise<void> {
  await tx.query(
    `INSERT INTO account_balance (account_id, currency) VALUES ($1, $2) ON CONFLICT (account_id) DO NOTHING`,
    [accountId, currency],
  );
  const [held] = await tx.query<[{ currency: string }]>(
    `SELECT currency FROM account_balance WHERE account_id = $1 FOR UPDATE`,
    [accountId],
  );
  if (held.currency !== currency)
    throw new Error(`Account ${accountId} is kept in ${held.currency}, not in ${currency}.`);
}
