import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { CaAccountEntity } from '../acme/ca-account.entity';

/** How much of a CA's limit is used up, as of an instant. What that leaves, the limit of today says. */
@Entity('ca_limit_bucket')
@Check(
  'ca_limit_bucket_kind',
  `kind IN ('newOrders', 'perRegisteredDomain', 'perNameSet', 'failedAuthorizations', 'shareOfNewOrders')`,
)
@Check('ca_limit_bucket_spent', `spent >= 0`)
export class CaLimitBucketEntity {
  @ForeignKey(() => CaAccountEntity)
  @PrimaryColumn('bigint', { name: 'ca_account_id' })
  caAccountId!: string;

  /** `shareOfNewOrders`: what one of our accounts had of `newOrders` lately. */
  @PrimaryColumn('text')
  kind!: 'newOrders' | 'perRegisteredDomain' | 'perNameSet' | 'failedAuthorizations' | 'shareOfNewOrders';

  /** The registered domain, the name, the SHA-256 of the sorted names in hex, our account; empty for all orders. */
  @PrimaryColumn('text', { collation: 'C' })
  key!: string;

  @Column('double precision', { comment: 'tokens; more than the limit has: the CA itself said to wait' })
  spent!: number;

  @Column('timestamptz', { comment: 'as of when' })
  at!: Date;

  @Index('ca_limit_bucket_spent_until')
  @Column('timestamptz', {
    name: 'spent_until',
    comment: 'nothing is spent any more, as far as nobody takes',
  })
  spentUntil!: Date;
}
