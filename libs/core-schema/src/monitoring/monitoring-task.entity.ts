import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** The loops of `monitoring-worker`. */
export type MonitoringTaskName =
  | 'following'
  | 'backfill'
  | 'classifying'
  | 'alerts'
  | 'mail'
  | 'own-issuance'
  | 'housekeeping'
  | 'endpoints';

/** The right to run a loop: one process has it at a time. The migration inserts the rows. */
@Entity('monitoring_task')
@Check(
  'monitoring_task_task',
  `task IN ('following', 'backfill', 'classifying', 'alerts', 'mail', 'own-issuance', 'housekeeping', 'endpoints')`,
)
export class MonitoringTaskEntity {
  @PrimaryColumn('text', { collation: 'C' })
  task!: MonitoringTaskName;

  @Column('bigint', { name: 'lease_token', default: 0, comment: 'fencing token' })
  leaseToken!: string;

  @Column('timestamptz', { name: 'leased_until', nullable: true, comment: 'by the clock of the database' })
  leasedUntil!: Date | null;
}
