import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type InvoiceEntity, SharedReads, type Tx } from '@certwright/core-schema';

export type Invoice = Readonly<InvoiceEntity>;

const invoices = `
  SELECT number, account_id AS "accountId", charge_id AS "chargeId", lines, total_cents AS "totalCents", currency, note,
    email_to AS "emailTo", issued_at AS "issuedAt", refunded_at AS "refundedAt" FROM invoice`;

/** Charges of accounts. */
@Injectable()
export class Invoices {
  private readonly reads = new SharedReads<readonly string[], ReadonlyMap<string, string>>(async (keys) => {
    const numbers = await this.ofIssuances(keys.flat(), this.database);
    return keys.map((ids) => new Map([...numbers].filter(([id]) => ids.includes(id))));
  });

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

  /**
   * Issuance id → number of the invoice that paid for it: the newest that serves it, else the one that it was opened
   * with. Free issuances are omitted.
   */
  async ofIssuances(
    issuanceIds: readonly string[],
    reader?: Pick<Tx, 'query'>,
  ): Promise<ReadonlyMap<string, string>> {
    if (issuanceIds.length === 0) return new Map();
    if (reader === undefined) return await this.reads.read(issuanceIds);
    const rows = await reader.query<{ issuance_id: string; number: string }[]>(
      `SELECT served.issuance_id, invoice.number FROM (
         SELECT issuance_id, id, true AS serves FROM charge
         WHERE issuance_id = ANY($1::bigint[]) AND refunded_at IS NULL
         UNION ALL
         SELECT made_for_issuance_id, id, false FROM charge WHERE made_for_issuance_id = ANY($1::bigint[])) AS served
       JOIN invoice ON invoice.charge_id = served.id
       ORDER BY served.serves, served.id`,
      [issuanceIds],
    );
    // Of several of one issuance the last one stays.
    return new Map(rows.map((row) => [row.issuance_id, row.number]));
  }
}
