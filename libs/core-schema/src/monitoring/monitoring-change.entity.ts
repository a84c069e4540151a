import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { ApiKeyEntity } from '../accounts/api-key.entity';

/** What of an account's monitoring can be changed. */
type MonitoringObject =
  'monitored_domain' | 'known_key' | 'known_cert' | 'settings' | 'limit' | 'certificate' | 'endpoint';

type MonitoringAction = 'created' | 'enabled' | 'disabled' | 'changed' | 'deleted';

/**
 * A change of what an account monitors: who made it and when. Written in the transaction of the change, kept after the object
 * is deleted, never changed. Readers follow it to learn of changes.
 */
@Entity('monitoring_change')
@Check(
  'monitoring_change_object',
  `object IN ('monitored_domain', 'known_key', 'known_cert', 'settings', 'limit', 'certificate', 'endpoint')`,
)
@Check('monitoring_change_action', `action IN ('created', 'enabled', 'disabled', 'changed', 'deleted')`)
@Check(
  'monitoring_change_values',
  `(action = 'created') = (before IS NULL) AND (action = 'deleted') = (after IS NULL)`,
)
@Index('monitoring_change_account', ['accountId', 'id'])
@Index('monitoring_change_order', ['transactionId', 'id'])
export class MonitoringChangeEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  /** Ids alone do not suffice: a transaction with a smaller id may commit later. */
  @Column('bigint', {
    name: 'transaction_id',
    comment:
      'pg_current_xact_id() of the change. A reader applies every row after its cursor (transaction_id, id), and moves the cursor only over rows below pg_snapshot_xmin(pg_current_snapshot())',
  })
  transactionId!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @ForeignKey(() => ApiKeyEntity)
  @Column('bigint', { name: 'api_key_id', nullable: true, comment: 'null: the operator' })
  apiKeyId!: string | null;

  @Column('text')
  object!: MonitoringObject;

  @Column('text', {
    comment:
      'name of a monitored domain or endpoint, id of a known key or known certificate, tbs_sha256 of a certificate; empty otherwise',
  })
  name!: string;

  @Column('text')
  action!: MonitoringAction;

  @Column('jsonb', {
    nullable: true,
    comment: 'members of the object before the change; null: there was none',
  })
  before!: object | null;

  @Column('jsonb', {
    nullable: true,
    comment: 'members of the object after the change; null: it was deleted',
  })
  after!: object | null;

  @Column('timestamptz', { name: 'changed_at', default: () => 'now()' })
  changedAt!: Date;
}
