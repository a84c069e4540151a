import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { IssuanceEntity } from '../issuances/issuance.entity';

/**
 * What the built-in CA is about to sign, recorded before it signs. The signature is a function of these bytes
 * (RSASSA-PKCS1-v1_5), so a crash between signing and storing yields the same certificate again, never a second one.
 */
@Entity('ca_signing')
@Index('ca_signing_logs_to_choose', ['notAfter'], { where: 'NOT logs_chosen' })
export class CaSigningEntity {
  @ForeignKey(() => IssuanceEntity)
  @PrimaryColumn('bigint', { name: 'issuance_id' })
  issuanceId!: string;

  @Index('ca_signing_serial', { unique: true })
  @Column('bytea', { name: 'serial_number', comment: 'content bytes of the DER INTEGER' })
  serialNumber!: Buffer;

  @Column('bytea', { comment: 'TBSCertificate, DER' })
  tbs!: Buffer;

  // No foreign key: every insert would lock the one row of ca_issuer that is locked while a list is created.
  @Column('text', { default: 'intermediate', comment: 'ca_issuer.name of the intermediate that signs' })
  issuer!: string;

  @Column('timestamptz', { name: 'not_after' })
  notAfter!: Date;

  @Column('timestamptz', { name: 'recorded_at', default: () => 'now()' })
  recordedAt!: Date;

  @Index('ca_signing_revoked', { where: 'revoked_at IS NOT NULL' })
  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt!: Date | null;

  @Column('integer', { name: 'revocation_reason', nullable: true, comment: 'CRLReason, RFC 5280, 5.3.1' })
  revocationReason!: number | null;

  @Column('boolean', {
    name: 'logs_chosen',
    default: false,
    comment: 'whether it was written down where the certificate is to be logged',
  })
  logsChosen!: boolean;
}
