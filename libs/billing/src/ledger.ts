import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Tx } from '@certwright/core-schema';
import { holdBalance } from './balances';
import type { LedgerEntryEntity } from '@certwright/core-schema';

/** What moves money besides charges and their refunds. */
export interface Booking {
  readonly accountId: string;
  readonly kind: Extract<LedgerEntryEntity['kind'], 'payment' | 'adjustment'>;
  /** Hundredths of the currency; below zero: taken from the account. */
  readonly cents: number;
  /** ISO 4217. */
  readonly currency: string;
  readonly note: string;
}

export interface LedgerEntry {
  readonly id: string;
  readonly kind: LedgerEntryEntity['kind'];
  readonly cents: number;
  readonly currency: string;
  readonly note: string;
  readonly createdAt: Date;
}

/** The movements of money, whose sum the balance is. Charges and refunds are entered by `Purchases`. */
@Injectable()
export class Ledger {
  constructor(private readonly database: DataSource) {}

  /** @throws Error when the account is kept in another currency */
  async book(tx: Tx, { accountId, kind, cents, currency, note }: Booking): Promise<void> {
    await holdBalance(tx, accountId, currency);
    await tx.query(
      `WITH entered AS (
         INSERT INTO ledger_entry (account_id, kind, cents, currency, note) VALUES ($1, $2, $3, $4, $5))
       UPDATE account_balance SET balance_cents = balance_cents + $3 WHERE account_id = $1`,
      [accountId, kind, cents, currency, note],
    );
  }

  /** The newest first. */
  async newest(accountId: string, limit: number): Promise<readonly LedgerEntry[]> {
    const rows: (Omit<LedgerEntry, 'cents'> & { readonly cents: string })[] = await this.database.query(
      `SELECT id, kind, cents, currency, note, created_at AS "createdAt" FROM ledger_entry
       WHERE account_id = $1 ORDER BY id DESC LIMIT $2`,
      [accountId, limit],
    );
    return rows.map((row) => ({ ...row, cents: Number(row.cents) }));
  }
}
