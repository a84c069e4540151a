import type { Plan } from '@certwright/issuance';
import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** The API whose object represents a plan. */
export type PlanOwner = 'orders-v3' | 'certs-v2';

@Entity('plan')
@Check('plan_revision_positive', `revision > 0`)
@Index('plan_unannounced', ['accountId', 'id'], { where: 'current_version > announced_version' })
@Check('plan_owner', `owner IN ('orders-v3', 'certs-v2')`)
@Check('plan_makes_keys', `makes_keys OR NOT new_key_at_renewal`)
@Check('plan_paid', `(paid_through IS NULL) = (paid_product IS NULL)`)
@Check('plan_paid_names', `paid_names >= 0 AND paid_wildcards >= 0`)
@Index('plan_renewal', ['renewAt'], {
  where: '(auto_renew OR replacement_paid) AND NOT paused AND closed_at IS NULL',
})
@Index('plan_renewal_of_account', ['accountId', 'renewAt'], {
  where: '(auto_renew OR replacement_paid) AND NOT paused AND closed_at IS NULL',
})
export class PlanEntity implements Plan {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @Index('plan_account')
  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  /** No foreign key: terms point back at their plan, and both are written in one transaction. */
  @Column('bigint', { name: 'terms_id', nullable: true, comment: 'null while the CSR is missing' })
  termsId!: string | null;

  @Column('integer')
  revision!: number;

  @Column('boolean', { name: 'auto_renew' })
  autoRenew!: boolean;

  @Column('boolean')
  muted!: boolean;

  @Column('boolean')
  paused!: boolean;

  /** In the public download URL: identifies the plan, and serves only public data. */
  @Index('plan_download_token', { unique: true })
  @Column({ type: 'text', name: 'download_token', collation: 'C', comment: '160 random bits, base64url' })
  downloadToken!: string;

  /** Incremented whenever the current certificate changes, also to none. */
  @Column('integer', { name: 'current_version', default: 0 })
  currentVersion!: number;

  /** Last version sent to webhooks; below `currentVersion` an event is pending. */
  @Column('integer', { name: 'announced_version', default: 0 })
  announcedVersion!: number;

  /** When the current certificate is to be replaced; null without one. */
  @Column('timestamptz', { name: 'renew_at', nullable: true })
  renewAt!: Date | null;

  /** The API that publishes the plan's events, which selects their queue. */
  @Column('text', { default: 'orders-v3' })
  owner!: PlanOwner;

  @Column('timestamptz', {
    name: 'paid_through',
    nullable: true,
    comment: 'end of the term that was bought; null: none was',
  })
  paidThrough!: Date | null;

  @Column('text', { name: 'paid_product', nullable: true })
  paidProduct!: string | null;

  @Column('integer', { name: 'paid_names', default: 0, comment: 'names that the term covers' })
  paidNames!: number;

  @Column('integer', { name: 'paid_wildcards', default: 0, comment: 'wildcard names that the term covers' })
  paidWildcards!: number;

  /** The renewal at `renew_at` is within the term: made also without `auto_renew`. */
  @Column('boolean', { name: 'replacement_paid', default: false })
  replacementPaid!: boolean;

  // Set by triggers. The two columns are not selected: processes of the previous release work without them.

  @Column({
    type: 'boolean',
    name: 'makes_keys',
    default: false,
    select: false,
    insert: false,
    comment: 'its owner makes a new key when a key request says so',
  })
  makesKeys!: boolean;

  @Column({
    type: 'boolean',
    name: 'new_key_at_renewal',
    default: false,
    select: false,
    insert: false,
    comment: 'a renewal requests a new key first',
  })
  newKeyAtRenewal!: boolean;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'closed_at', nullable: true })
  closedAt!: Date | null;
}
