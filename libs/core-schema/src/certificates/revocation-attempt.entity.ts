import type { Outcome } from '@certwright/issuance';
import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { CertificateEntity } from './certificate.entity';

/** A certificate that is revoked here and that its CA has not revoked: why, and when it is sent again. */
@Entity('revocation_attempt')
export class RevocationAttemptEntity {
  @ForeignKey(() => CertificateEntity)
  @PrimaryColumn('bigint', { name: 'certificate_id' })
  certificateId!: string;

  @Column('integer', { comment: 'failures in a row' })
  failures!: number;

  @Column('timestamptz', { name: 'due_at' })
  dueAt!: Date;

  @Column('boolean', { comment: 'the CA responded with a refusal; false: it was unavailable' })
  refused!: boolean;

  @Column('text')
  problem!: string;

  @Column('jsonb')
  outcome!: Outcome;

  @Column('timestamptz', { default: () => 'now()', comment: 'the first of them' })
  since!: Date;
}
