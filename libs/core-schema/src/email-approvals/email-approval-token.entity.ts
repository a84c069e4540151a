import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { EmailApprovalEntity } from './email-approval.entity';

/** The secret of one mail: single use, 30 days. Only its digest is stored. */
@Entity('email_approval_token')
@Check('email_approval_token_length', `octet_length(sha256) = 32`)
export class EmailApprovalTokenEntity {
  @PrimaryColumn('bytea', { comment: 'SHA-256 over the token as written in the link' })
  sha256!: Buffer;

  @Index('email_approval_token_approval')
  @ForeignKey(() => EmailApprovalEntity)
  @Column('bigint', { name: 'approval_id' })
  approvalId!: string;

  @Index('email_approval_token_expires')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;

  @Column('timestamptz', { name: 'used_at', nullable: true })
  usedAt!: Date | null;
}
