import { Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { WebhookDeliveryEntity } from './webhook-delivery.entity';

/** One try of one delivery: the log that its owner reads, for 30 days. */
@Entity('webhook_attempt')
@Index('webhook_attempt_delivery', ['deliveryId', 'id'])
export class WebhookAttemptEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @ForeignKey(() => WebhookDeliveryEntity, { onDelete: 'CASCADE' })
  @Column({ type: 'text', name: 'delivery_id', collation: 'C' })
  deliveryId!: string;

  @Column('timestamptz', { name: 'started_at' })
  startedAt!: Date;

  @Column('integer', { name: 'duration_ms' })
  durationMs!: number;

  /** Null without a response. */
  @Column('integer', { nullable: true })
  status!: number | null;

  /** Reason for the failure, as our own text; null for a success. */
  @Column('text', { nullable: true })
  problem!: string | null;
}
