import type { InvoiceEntity } from '@certwright/core-schema';

/** An invoice as its account sees it. */
export type StoredInvoice = Readonly<
  Pick<
    InvoiceEntity,
    'number' | 'issuedAt' | 'lines' | 'totalCents' | 'currency' | 'note' | 'emailTo' | 'refundedAt'
  >
>;

/** Amounts are in hundredths of the currency. */
export function invoiceJson(invoice: StoredInvoice, accountName: string): object {
  const { number, issuedAt, lines, totalCents, currency, note, emailTo, refundedAt } = invoice;
  return {
    number,
    issued_at: unixSeconds(issuedAt),
    account: accountName,
    currency,
    lines: lines.map(({ description, quantity, unitCents, cents }) => ({
      description,
      quantity,
      unit_price: unitCents,
      amount: cents,
    })),
    total: totalCents,
    note,
    email_to: emailTo,
    refunded_at: refundedAt === null ? null : unixSeconds(refundedAt),
  };
}

const unixSeconds = (at: Date): number => Math.floor(at.getTime() / 1_000);
