import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { CertificateEntity } from '../certificates/certificate.entity';
import { CertificateAuthorityEntity } from './certificate-authority.entity';

/** Renewal window that the CA suggests for a certificate in use (ARI, RFC 9773). */
@Entity('renewal_info')
@Index('renewal_info_due', ['dueAt'])
export class RenewalInfoEntity {
  @ForeignKey(() => CertificateEntity)
  @PrimaryColumn('bigint', { name: 'certificate_id' })
  certificateId!: string;

  @ForeignKey(() => CertificateAuthorityEntity)
  @Column('text')
  authority!: string;

  @Column('text', { name: 'ari_id', comment: 'base64url(AKI) . base64url(serial), section 4.1' })
  ariId!: string;

  @Column('timestamptz', { name: 'window_start', nullable: true })
  windowStart!: Date | null;

  @Column('timestamptz', { name: 'window_end', nullable: true })
  windowEnd!: Date | null;

  @Column('text', { name: 'explanation_url', nullable: true })
  explanationUrl!: string | null;

  /** Next query to the CA; infinity: the certificate is not the current one. */
  @Column('timestamptz', { name: 'due_at' })
  dueAt!: Date;

  @Column('integer', { default: 0, comment: 'failures in a row' })
  failures!: number;
}
