import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { PlanEntity } from '../plans/plan.entity';
import { WebhookEndpointEntity } from './webhook-endpoint.entity';
import { traceparentColumn } from '../transactions/traceparent';

export const deliveryStates = ['pending', 'delivered', 'failed', 'superseded', 'canceled'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** One message to one endpoint. A newer state of the same plan replaces a waiting message. */
@Entity('webhook_delivery')
@Check('webhook_delivery_state', `state IN ('pending', 'delivered', 'failed', 'superseded', 'canceled')`)
@Check('webhook_delivery_finished_when_not_pending', `(state = 'pending') = (finished_at IS NULL)`)
@Index('webhook_delivery_due', ['dueAt'], { where: `state = 'pending'` })
@Index('webhook_delivery_endpoint', ['endpointId', 'createdAt'])
@Index('webhook_delivery_finished', ['finishedAt'], { where: `state <> 'pending'` })
@Index('webhook_delivery_pending_of_endpoint', ['endpointId', 'dueAt'], { where: `state = 'pending'` })
@Index('webhook_delivery_in_flight', ['endpointId'], { where: 'leased_until IS NOT NULL' })
@Index('webhook_delivery_once', ['endpointId', 'planId', 'version', 'replayOf'], { unique: true })
@Index('webhook_delivery_once_of_subject', ['endpointId', 'subject', 'replayOf'], {
  unique: true,
  where: `subject <> ''`,
})
@Index('webhook_delivery_pending_of_subject', ['accountId', 'subject'], {
  where: `subject <> '' AND state = 'pending'`,
})
@Index('webhook_delivery_pending_of_plan', ['planId'], { where: `state = 'pending'` })
export class WebhookDeliveryEntity {
  /** Random; also the `webhook-id` of every attempt. */
  @PrimaryColumn('text', { collation: 'C', comment: 'msg_ and 160 random bits, base64url' })
  id!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @ForeignKey(() => WebhookEndpointEntity, { onDelete: 'CASCADE' })
  @Column('bigint', { name: 'endpoint_id' })
  endpointId!: string;

  /** Null: a test event, or a message about its subject. */
  @ForeignKey(() => PlanEntity)
  @Column('bigint', { name: 'plan_id', nullable: true })
  planId!: string | null;

  @Column('integer', { comment: 'the plan’s current_version that it tells of; 0 for a test event' })
  version!: number;

  /** A replay is a separate delivery with the body of another: `<original id>/<own id>`. Empty for an original. */
  @Column({ type: 'text', name: 'replay_of', default: '', collation: 'C' })
  replayOf!: string;

  /** A message about a subject is never superseded. */
  @Column('text', {
    default: '',
    comment: 'what a message is about that is not about a plan, as finding:<tbs_sha256>; empty otherwise',
  })
  subject!: string;

  @Column('text')
  event!: string;

  /** Exactly the bytes that are signed and sent. */
  @Column('text')
  body!: string;

  @Column('text')
  state!: DeliveryState;

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
