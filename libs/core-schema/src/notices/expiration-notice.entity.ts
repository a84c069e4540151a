import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { CertificateEntity } from '../certificates/certificate.entity';

/** Once per certificate and threshold: the row is written in the transaction that writes the mail. */
@Entity('expiration_notice')
@Check('expiration_notice_threshold', `threshold_days IN (30, 14, 7, 3, 1)`)
export class ExpirationNoticeEntity {
  @ForeignKey(() => CertificateEntity)
  @PrimaryColumn('bigint', { name: 'certificate_id' })
  certificateId!: string;

  @PrimaryColumn('integer', { name: 'threshold_days' })
  thresholdDays!: number;

  @Column('timestamptz', { name: 'noticed_at', default: () => 'now()' })
  noticedAt!: Date;
}
