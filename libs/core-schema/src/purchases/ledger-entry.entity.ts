import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { ChargeEntity } from './charge.entity';

/** One movement of money; never changed. */
@Entity('ledger_entry')
@Check('ledger_entry_kind', `kind IN ('charge', 'refund', 'payment', 'adjustment')`)
@Check('ledger_entry_of_charge', `(kind IN ('charge', 'refund')) = (charge_id IS NOT NULL)`)
@Index('ledger_entry_account', ['accountId', 'id'])
@Index('ledger_entry_once', ['chargeId', 'kind'], { unique: true, where: 'charge_id IS NOT NULL' })
@Index('ledger_entry_reference', ['accountId', 'reference'], { unique: true, where: 'reference IS NOT NULL' })
export class LedgerEntryEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Column('text')
  kind!: 'charge' | 'refund' | 'payment' | 'adjustment';

  @Column('bigint', { comment: 'hundredths of the currency; below zero: taken from the account' })
  cents!: string;

  @Column('text', { comment: 'ISO 4217' })
  currency!: string;

  @ForeignKey(() => ChargeEntity)
  @Column('bigint', { name: 'charge_id', nullable: true })
  chargeId!: string | null;

  @Column('text')
  note!: string;

  @Column('text', {
    nullable: true,
    comment:
      'of the operator, such as the number of a bank transfer; null: a charge or refund, or an older entry',
  })
  reference!: string | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
