import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { CertificateEntity } from '../certificates/certificate.entity';

/** Submission of a certificate of the built-in CA to a Certificate Transparency log, and the returned SCT. */
@Entity('log_submission')
@Check('log_submission_promise', `(sct IS NULL) = (logged_at IS NULL)`)
@Index('log_submission_due', ['logUrl', 'dueAt'], { where: 'sct IS NULL' })
export class LogSubmissionEntity {
  @ForeignKey(() => CertificateEntity, { onDelete: 'CASCADE' })
  @PrimaryColumn('bigint', { name: 'certificate_id' })
  certificateId!: string;

  @PrimaryColumn('text', { name: 'log_url', collation: 'C', comment: 'of submissions; ends in a slash' })
  logUrl!: string;

  @Column('timestamptz', { name: 'due_at', default: () => 'now()', comment: 'or when a lease ends' })
  dueAt!: Date;

  @Column('integer', { default: 0 })
  attempts!: number;

  @Column('text', { name: 'last_error', nullable: true })
  lastError!: string | null;

  @Column('bytea', {
    nullable: true,
    comment: 'SignedCertificateTimestamp (RFC 6962, 3.2) as the log gave it; its signature is not verified',
  })
  sct!: Buffer | null;

  @Column('timestamptz', { name: 'logged_at', nullable: true, comment: 'as the SCT says' })
  loggedAt!: Date | null;
}
