import { Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { PlanEntity } from '../plans/plan.entity';

/** A name of a plan, and the mailbox that approves it. */
@Entity('email_approval')
@Index('email_approval_of_name', ['planId', 'dnsName', 'address'], { unique: true })
export class EmailApprovalEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @ForeignKey(() => PlanEntity)
  @Column('bigint', { name: 'plan_id' })
  planId!: string;

  @Column({ type: 'text', name: 'dns_name', collation: 'C' })
  dnsName!: string;

  @Column('text')
  address!: string;

  @Column('timestamptz', { name: 'asked_at', nullable: true, comment: 'when the newest mail was ordered' })
  askedAt!: Date | null;

  @Column('boolean', { name: 'asked_again', default: false, comment: 'the caller wants another mail' })
  askedAgain!: boolean;

  @Column('timestamptz', { name: 'approved_at', nullable: true })
  approvedAt!: Date | null;
}
