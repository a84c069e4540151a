import { amountText } from '@certwright/issuance';
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
  /** ISO 4217; null: that of the account. */
  readonly currency: string | null;
  readonly note: string;
  /**
   * Identifies the booking within its account, such as the number of a bank transfer: it is booked once. Omitted: a
   * repetition books again.
   */
  readonly reference?: string;
}

export interface LedgerEntry {
  readonly id: string;
  readonly kind: LedgerEntryEntity['kind'];
  readonly cents: number;
  readonly currency: string;
  readonly note: string;
  /** Null: a charge or a refund, or booked without one. */
  readonly reference: string | null;
  readonly createdAt: Date;
}

/** The movements of money, whose sum the balance is. Charges and refunds are entered by `Purchases`. */
@Injectable()
export class Ledger {
  constructor(private readonly database: DataSource) {}

  /**
   * @returns null; the entry that has the reference, if it is booked already: then nothing was changed
   * @throws Error as `holdBalance`, or when the reference is that of another booking
   */
  async book(tx: Tx, booking: Booking): Promise<LedgerEntry | null> {
    const { accountId, kind, cents, note, reference } = booking;
    // Its lock lets one booking of the account after the other look for the reference.
    const currency = await holdBalance(tx, accountId, booking.currency);
    const booked =
      reference === undefined ? null : await bookedBefore(tx, { ...booking, currency }, reference);
    if (booked !== null) return booked;
    const [column, value] = reference === undefined ? ['', ''] : [', reference', ', $6'];
    await tx.query(
      `WITH entered AS (
         INSERT INTO ledger_entry (account_id, kind, cents, currency, note${column})
         VALUES ($1, $2, $3, $4, $5${value}))
       UPDATE account_balance SET balance_cents = balance_cents + $3 WHERE account_id = $1`,
      [accountId, kind, cents, currency, note, ...(reference === undefined ? [] : [reference])],
    );
    return null;
  }

  /** The newest first. */
  async newest(accountId: string, limit: number): Promise<readonly LedgerEntry[]> {
    const rows = await this.database.query<EntryRow[]>(
      `SELECT ${columns} FROM ledger_entry WHERE account_id = $1 ORDER BY id DESC LIMIT $2`,
      [accountId, limit],
    );
    return rows.map(entryOf);
  }
}

type EntryRow = Omit<LedgerEntry, 'cents'> & { readonly cents: string };

/** `reference` through JSON, so that it works without the column too. */
const columns = `id, kind, cents, currency, note, to_jsonb(ledger_entry) ->> 'reference' AS reference,
  created_at AS "createdAt"`;

const entryOf = (row: EntryRow): LedgerEntry => ({ ...row, cents: Number(row.cents) });

/** The caller holds the balance. @throws Error when it is another booking */
async function bookedBefore(
  tx: Tx,
  { accountId, kind, cents, currency }: Booking & { readonly currency: string },
  reference: string,
): Promise<LedgerEntry | null> {
  const [row] = await tx.query<EntryRow[]>(
    `SELECT ${columns} FROM ledger_entry WHERE account_id = $1 AND reference = $2`,
    [accountId, reference],
  );
  if (row === undefined) return null;
  const booked = entryOf(row);
  if (booked.kind !== kind || booked.cents !== cents)
    throw new Error(
      `The reference "${reference}" of account ${accountId} is ${bookingText(booked)}, not ` +
        `${bookingText({ kind, cents, currency })}. Nothing was changed.`,
    );
  return booked;
}

/** `a payment of USD 12.34` */
export function bookingText({
  kind,
  cents,
  currency,
}: Pick<LedgerEntry, 'kind' | 'cents' | 'currency'>): string {
  return `${kind === 'adjustment' ? 'an' : 'a'} ${kind} of ${amountText(cents, currency)}`;
}
