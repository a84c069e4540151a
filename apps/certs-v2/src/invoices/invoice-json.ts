import type { InvoiceEntity } from '@certwright/core-schema';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { ApiInteger, ApiList, ApiNullable } from '../wire/openapi/members';

/** An invoice as its account sees it. */
export type StoredInvoice = Readonly<
  Pick<
    InvoiceEntity,
    'number' | 'issuedAt' | 'lines' | 'totalCents' | 'currency' | 'note' | 'emailTo' | 'refundedAt'
  >
>;

@ApiSchema({ name: 'InvoiceLine' })
class InvoiceLineJson {
  @ApiProperty({ description: 'What was bought.' }) description: string;
  @ApiInteger('How many.') quantity: number;
  @ApiInteger('Hundredths of the currency.') unit_price: number;
  @ApiInteger('Hundredths of the currency.') amount: number;
}

@ApiSchema({ name: 'Invoice' })
export class InvoiceJson {
  @ApiProperty({ description: 'Unique.' }) number: string;
  @ApiInteger('UNIX time in seconds.') issued_at: number;
  @ApiProperty({ description: 'Name of the account.' }) account: string;
  @ApiProperty({ description: 'ISO 4217.' }) currency: string;
  @ApiList(InvoiceLineJson, 'What was bought.') lines: InvoiceLineJson[];
  @ApiInteger('Hundredths of the currency.') total: number;
  @ApiNullable(String, 'As given when buying.') note: string | null;
  @ApiNullable(String, 'Address that a copy was sent to.') email_to: string | null;
  @ApiNullable('integer', 'When it was refunded. UNIX time in seconds.') refunded_at: number | null;
}

/** Amounts are in hundredths of the currency. */
export function invoiceJson(invoice: StoredInvoice, accountName: string): InvoiceJson {
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
