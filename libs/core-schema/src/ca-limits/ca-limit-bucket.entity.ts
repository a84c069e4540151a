import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { CaAccountEntity } from '../acme/ca-account.entity';

/** Used part of a CA's limit, as of an instant. The current limit determines the remainder. */
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

  /** `shareOfNewOrders`: recent share of one of our accounts in `newOrders`. */
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
    comment: 'when nothing is spent any more, unless more is taken',
  })
  spentUntil!: Date;
}
