import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

export const backfillStates = ['waiting', 'running', 'done', 'canceled'] as const;
export type BackfillState = (typeof backfillStates)[number];

/** Matches what the index had at or below a name before a change made it monitored. */
@Entity('monitoring_backfill')
@Check('monitoring_backfill_state', `state IN ('waiting', 'running', 'done', 'canceled')`)
@Check('monitoring_backfill_finished', `(state IN ('done', 'canceled')) = (finished_at IS NOT NULL)`)
@Index('monitoring_backfill_open', ['changeId'], { where: `state IN ('waiting', 'running')` })
@Index('monitoring_backfill_to_mail', ['accountId'], { where: 'mail_due' })
@Index('monitoring_backfill_of_domain', ['accountId', 'name', 'changeId'])
export class MonitoringBackfillEntity {
  /** At most one per change. */
  @PrimaryColumn('bigint', { name: 'change_id', comment: 'id of the monitoring_change' })
  changeId!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Column({ type: 'text', collation: 'C', comment: 'of the monitored domain' })
  name!: string;

  @Column('bigint', { comment: 'last position that was matched', default: 0 })
  position!: string;

  @Column('bigint', { name: 'until_position', comment: 'the stream has everything after it' })
  untilPosition!: string;

  @Column('text', { default: 'waiting' })
  state!: BackfillState;

  @Column('integer', { default: 0, comment: 'certificates that concern the account' })
  found!: number;

  @Column('integer', { default: 0, comment: 'unknown ones of these' })
  unknown!: number;

  @Column('boolean', {
    name: 'mail_due',
    default: false,
    comment: 'something was found; mailed once no backfill of the account is open',
  })
  mailDue!: boolean;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'finished_at', nullable: true })
  finishedAt!: Date | null;
}
