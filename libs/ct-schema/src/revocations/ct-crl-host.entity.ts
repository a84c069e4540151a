import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A host with revocation lists. Only the holder of its lease sends requests to it. */
@Entity('ct_crl_host')
export class CtCrlHostEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'ct_crl_host_pkey', comment: 'host and port' })
  host!: string;

  @Column('bigint', { name: 'lease_token', default: 0, comment: 'fencing token' })
  leaseToken!: string;

  @Column('timestamptz', {
    name: 'leased_until',
    nullable: true,
    comment: 'by the clock of the database',
  })
  leasedUntil!: Date | null;

  @Column('timestamptz', { name: 'rests_until', default: () => 'now()' })
  restsUntil!: Date;

  @Column('integer', { default: 0, comment: 'failures in a row' })
  failures!: number;
}
