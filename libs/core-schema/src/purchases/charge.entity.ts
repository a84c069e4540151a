import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { IssuanceEntity } from '../issuances/issuance.entity';
import { PlanEntity } from '../plans/plan.entity';

/** The paid term before a charge; a refund restores it. */
export interface PaidBefore {
  /** RFC 3339; null: no paid term. */
  readonly paidThrough: string | null;
  readonly product: string | null;
  readonly names: number;
  readonly wildcards: number;
}

/**
 * A purchase with an issuance: a term, or names added to one. Written in the transaction that opens the issuance;
 * refunded when no issuance that it serves leads to a certificate.
 */
@Entity('charge')
@Check('charge_kind', `kind IN ('term', 'added_names')`)
@Check('charge_cents', `cents >= 0`)
export class ChargeEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Index('charge_plan')
  @ForeignKey(() => PlanEntity)
  @Column('bigint', { name: 'plan_id' })
  planId!: string;

  /** One charge per issuance, whatever was repeated. */
  @Index('charge_once', { unique: true })
  @ForeignKey(() => IssuanceEntity)
  @Column('bigint', { name: 'made_for_issuance_id' })
  madeForIssuanceId!: string;

  /** Differs from the first issuance if newer terms superseded that. */
  @Index('charge_serving', { where: 'refunded_at IS NULL' })
  @ForeignKey(() => IssuanceEntity)
  @Column('bigint', { name: 'issuance_id', comment: 'the issuance that it serves' })
  issuanceId!: string;

  @Column('text')
  kind!: 'term' | 'added_names';

  @Column('text')
  product!: string;

  @Column('integer', { comment: 'names paid with it' })
  names!: number;

  @Column('integer', { comment: 'wildcard names paid with it' })
  wildcards!: number;

  @Column('timestamptz', { name: 'paid_through' })
  paidThrough!: Date;

  @Column('jsonb')
  before!: PaidBefore;

  @Column('integer', { comment: 'hundredths of the currency; 0 in a sandbox' })
  cents!: number;

  @Column('text', { comment: 'ISO 4217' })
  currency!: string;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'refunded_at', nullable: true })
  refundedAt!: Date | null;
}
