import type { Plan } from '@certwright/issuance';
import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

@Entity('plan')
@Check('plan_revision_positive', `revision > 0`)
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

  /** In the public download URL: names the plan to whoever knows it, and only serves what is public anyway. */
  @Index('plan_download_token', { unique: true })
  @Column({ type: 'text', name: 'download_token', collation: 'C', comment: '160 random bits, base64url' })
  downloadToken!: string;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'closed_at', nullable: true })
  closedAt!: Date | null;
}
