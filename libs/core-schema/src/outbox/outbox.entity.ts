import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { traceparentColumn } from '../transactions/traceparent';

/** A wake-up written with the change that caused it; a relay moves it to Redis. */
@Entity('outbox')
export class OutboxEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @Column('text')
  job!: string;

  @Column('text', { name: 'job_id' })
  jobId!: string;

  @Column('jsonb')
  payload!: object;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('text', traceparentColumn)
  traceparent!: string | null;
}
