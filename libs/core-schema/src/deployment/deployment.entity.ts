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
}
