import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** Balance and credit limit of an account. Charges lock its row. */
@Entity('account_balance')
@Check('account_balance_credit_limit', `credit_limit_cents >= 0`)
@Check('account_balance_currency', `currency ~ '^[A-Z]{3}$'`)
export class AccountBalanceEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @Column('text', { comment: 'ISO 4217' })
  currency!: string;

  @Column('bigint', {
    name: 'balance_cents',
    default: 0,
    comment: 'sum of the ledger; below zero: owed by the account',
  })
  balanceCents!: string;

  @Column('bigint', { name: 'credit_limit_cents', default: 0 })
  creditLimitCents!: string;

  /** Invoices are numbered by account, without gaps. */
  @Column('integer', { name: 'last_invoice', default: 0 })
  lastInvoice!: number;
}
