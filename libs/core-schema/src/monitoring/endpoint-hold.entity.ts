import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A time in which reports about endpoints are held back, because too many turned bad. At most one has not ended. */
@Entity('endpoint_hold')
export class EndpointHoldEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @Column('timestamptz', { name: 'began_at', default: () => 'now()' })
  beganAt!: Date;

  @Column('timestamptz', {
    name: 'counted_from',
    comment: 'endpoints that turned bad since then count, until it ends',
  })
  countedFrom!: Date;

  @Column('timestamptz', { name: 'ended_at', nullable: true, comment: 'null: it goes on' })
  endedAt!: Date | null;

  @Column('boolean', { name: 'is_released', default: false, comment: 'ended by the operator' })
  isReleased!: boolean;
}
