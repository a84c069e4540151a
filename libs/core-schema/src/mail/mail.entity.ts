import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { traceparentColumn } from '../transactions/traceparent';

export type MailKind =
  | 'expiration-notice'
  | 'approval-request'
  | 'webhook-disabled'
  | 'invoice'
  | 'renewal-unpaid'
  | 'certificate-not-served'
  | 'rollout-stopped'
  | 'certificate-issued'
  | 'revocation-complete'
  | 'monitoring-certificates'
  | 'monitoring-backfill'
  | 'monitoring-overflow'
  | 'monitoring-behind'
  | 'monitoring-caught-up'
  | 'monitoring-heartbeat'
  | 'monitoring-not-logged'
  | 'monitoring-endpoints'
  | 'monitoring-endpoints-held';

/** A queued mail: kind and data, without text; the notifier writes that. */
@Entity('mail')
@Check('mail_state', `state IN ('pending', 'sent', 'failed', 'canceled')`)
@Check('mail_finished_when_not_pending', `(state = 'pending') = (finished_at IS NULL)`)
@Index('mail_due', ['dueAt'], { where: `state = 'pending'` })
@Index('mail_finished', ['finishedAt'], { where: `state <> 'pending'` })
@Index('mail_recipient', ['recipient', 'createdAt'])
// Over (facts ->> 'certificateId') of mails about revocations; TypeORM has no indexes over expressions.
@Index('mail_revocation', { synchronize: false })
export class MailEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id', nullable: true, comment: 'null: to the operator' })
  accountId!: string | null;

  @Column('text')
  kind!: MailKind;

  @Column('text')
  recipient!: string;

  /** Ids and data of the kind; never a token or another secret. */
  @Column('jsonb')
  facts!: object;

  @Column('text')
  state!: 'pending' | 'sent' | 'failed' | 'canceled';

  @Column('integer', { default: 0 })
  attempts!: number;

  @Column('timestamptz', { name: 'due_at' })
  dueAt!: Date;

  @Column('bigint', { name: 'lease_token', default: 0, comment: 'fencing token' })
  leaseToken!: string;

  @Column('timestamptz', { name: 'leased_until', nullable: true, comment: 'by the clock of the database' })
  leasedUntil!: Date | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'finished_at', nullable: true })
  finishedAt!: Date | null;

  @Column('text', traceparentColumn)
  traceparent!: string | null;
}
