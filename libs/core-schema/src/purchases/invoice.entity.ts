import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { ChargeEntity } from './charge.entity';

export interface InvoiceLine {
  readonly description: string;
  readonly quantity: number;
  readonly unitCents: number;
  readonly cents: number;
}

/** The customer's record of a charge. */
@Entity('invoice')
@Check('invoice_total', `total_cents > 0`)
@Index('invoice_account', ['accountId', 'issuedAt'])
export class InvoiceEntity {
  @PrimaryColumn('text', { collation: 'C', comment: '<account>-<running number of the account>' })
  number!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Index('invoice_charge', { unique: true })
  @ForeignKey(() => ChargeEntity)
  @Column('bigint', { name: 'charge_id' })
  chargeId!: string;

  @Column('jsonb')
  lines!: InvoiceLine[];

  @Column('integer', { name: 'total_cents' })
  totalCents!: number;

  @Column('text', { comment: 'ISO 4217' })
  currency!: string;

  @Column('text', { nullable: true, comment: 'in the words of the buyer' })
  note!: string | null;

  @Column('text', { name: 'email_to', nullable: true })
  emailTo!: string | null;

  @Column('timestamptz', { name: 'issued_at', default: () => 'now()' })
  issuedAt!: Date;

  @Column('timestamptz', { name: 'refunded_at', nullable: true })
  refundedAt!: Date | null;
}
