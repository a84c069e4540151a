import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/**
 * Where a tenant's standing record for one name must point: `_acme-challenge.<dns_name>` → `<label>.<approval zone>`.
 * The label is a secret of account and name, so that no tenant's record ever approves another tenant's order.
 */
@Entity('delegation')
@Index('delegation_of_name', ['dnsName'], { where: 'retired_at IS NULL' })
@Check('delegation_label_length', `char_length(label) >= 26`)
export class DelegationEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  /** Without `*.`: a name and its wildcard are approved at the same place. */
  @PrimaryColumn('text', { name: 'dns_name', collation: 'C' })
  dnsName!: string;

  @Index('delegation_label', { unique: true })
  @Column({ type: 'text', collation: 'C', comment: '160 random bits, base32, lower case' })
  label!: string;

  /** No open plan of the account names it any more: its target does not exist until it is used again. */
  @Column('timestamptz', { name: 'retired_at', nullable: true })
  retiredAt!: Date | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
