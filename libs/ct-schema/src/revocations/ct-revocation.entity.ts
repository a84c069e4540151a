import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

const primaryKeyConstraintName = 'ct_revocation_pkey';

/** A certificate on a revocation list. */
@Entity('ct_revocation')
export class CtRevocationEntity {
  @PrimaryColumn('integer', { primaryKeyConstraintName })
  issuer!: number;

  @Index('ct_revocation_serial', { type: 'hash' })
  @PrimaryColumn('bytea', { primaryKeyConstraintName, comment: 'as in ct_issuance' })
  serial!: Buffer;

  @Index('ct_revocation_crl')
  @PrimaryColumn('integer', { primaryKeyConstraintName })
  crl!: number;

  @Column('timestamptz', { name: 'revoked_at' })
  revokedAt!: Date;

  @Column('smallint', { comment: 'RFC 5280, 5.3.1; 0 where none is given' })
  reason!: number;
}
