import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** What of its monitoring an account was notified of, and how much was found today. */
@Entity('monitoring_account')
@Index('monitoring_account_mail', ['mailDueAt'], { where: 'mail_due_at IS NOT NULL' })
@Index('monitoring_account_endpoint_mail', ['endpointMailDueAt'], {
  where: 'endpoint_mail_due_at IS NOT NULL',
})
@Index('monitoring_account_behind', ['accountId'], { where: 'behind_since IS NOT NULL' })
export class MonitoringAccountEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @Column('date', { name: 'found_on', nullable: true, comment: 'UTC day of found and throttled' })
  foundOn!: string | null;

  @Column('integer', { default: 0, comment: 'findings stored on that day' })
  found!: number;

  @Column('integer', { default: 0, comment: 'certificates beyond the limit of that day: only counted' })
  throttled!: number;

  @Column('date', { name: 'overflow_on', nullable: true, comment: 'UTC day of the last overflow notice' })
  overflowOn!: string | null;

  @Column('timestamptz', { name: 'mailed_at', nullable: true, comment: 'last mail with certificates' })
  mailedAt!: Date | null;

  @Column('timestamptz', {
    name: 'mail_due_at',
    nullable: true,
    comment: 'when the gathered certificates are mailed; null: none',
  })
  mailDueAt!: Date | null;

  @Column('timestamptz', {
    name: 'behind_since',
    nullable: true,
    comment: 'the account was notified that monitoring is behind since then; null: it is not, or was not',
  })
  behindSince!: Date | null;

  @Column('timestamptz', { name: 'heartbeat_at', nullable: true, comment: 'last weekly mail' })
  heartbeatAt!: Date | null;

  @Column('timestamptz', { name: 'endpoint_mailed_at', nullable: true, comment: 'last mail with endpoints' })
  endpointMailedAt!: Date | null;

  @Column('timestamptz', {
    name: 'endpoint_mail_due_at',
    nullable: true,
    comment: 'when the gathered reports about endpoints are mailed; null: none',
  })
  endpointMailDueAt!: Date | null;
}
