import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { InvoiceEntity } from '@certwright/core-schema';

export type Invoice = Readonly<InvoiceEntity>;

const invoices = `
  SELECT number, account_id AS "accountId", charge_id AS "chargeId", lines, total_cents AS "totalCents", currency, note,
    email_to AS "emailTo", issued_at AS "issuedAt", refunded_at AS "refundedAt" FROM invoice`;

/** Charges of accounts. */
@Injectable()
export class Invoices {
  constructor(private readonly database: DataSource) {}

  /**
   * One page of an account's invoices, newest first.
   *
   * @param after number of the last invoice of the previous page; null for the first page. A number that the account
   *   does not have returns an empty page.
   */
  async page(accountId: string, after: string | null, limit: number): Promise<readonly Invoice[]> {
    return await this.database.query(
      `${invoices} WHERE account_id = $1 AND ($2::text IS NULL OR (issued_at, number) < (
         SELECT issued_at, number FROM invoice WHERE account_id = $1 AND number = $2))
       ORDER BY issued_at DESC, number DESC LIMIT $3`,
      [accountId, after, limit],
    );
  }

  /** @returns null when the account has none of this number */
  async find(accountId: string, number: string): Promise<Invoice | null> {
    const rows: Invoice[] = await this.database.query(`${invoices} WHERE account_id = $1 AND number = $2`, [
      accountId,
      number,
    ]);
    return rows[0] ?? null;
  }
}

/**
 * Number of the invoice that paid for an issuance: the newest that serves it, else the one that it was opened with. Null for
 * a free issuance.
 *
 * @param issuanceId an SQL expression
 */
export const invoiceNumberOf = (issuanceId: string): string => `(
  SELECT invoice.number FROM (
    SELECT id, true AS serves FROM charge WHERE issuance_id = ${issuanceId} AND refunded_at IS NULL
    UNION ALL
    SELECT id, false FROM charge WHERE made_for_issuance_id = ${issuanceId}) AS paid
  JOIN invoice ON invoice.charge_id = paid.id ORDER BY paid.serves DESC, paid.id DESC LIMIT 1)`;
