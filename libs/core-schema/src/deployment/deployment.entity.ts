import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** One row: sandbox and production never share a database, and a process of the other mode refuses to start. */
@Entity('deployment')
@Check('deployment_one_row', `only_row`)
@Check('deployment_mode', `mode IN ('sandbox', 'production')`)
export class DeploymentEntity {
  @PrimaryColumn('boolean', { name: 'only_row', default: true })
  onlyRow!: boolean;

  /** Of this deployment alone; a restored backup keeps it. */
  @Column('uuid', { generated: 'uuid' })
  id!: string;

  @Column('text')
  mode!: 'sandbox' | 'production';

  @Column('timestamptz', {
    name: 'held_since',
    nullable: true,
    comment: 'since then no worker advances an issuance; null: not held',
  })
  heldSince!: Date | null;

  @Column('text', { name: 'hold_reason', nullable: true })
  holdReason!: string | null;

  @Column('text', {
    nullable: true,
    comment: 'of the PostgreSQL server, 8 hexadecimal digits: a promotion and a restoration begin a new one',
  })
  timeline!: string | null;

  @Column('timestamptz', {
    name: 'timeline_seen_at',
    nullable: true,
    comment: 'when a worker last saw that timeline',
  })
  timelineSeenAt!: Date | null;
}
