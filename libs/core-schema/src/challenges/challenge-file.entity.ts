import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/**
 * Response of approval-responder to a CA's request for a token through the web server rule of the account (http-01).
 */
@Entity('challenge_file')
export class ChallengeFileEntity {
  @PrimaryColumn('text', { collation: 'C', comment: 'chosen by the CA, base64url' })
  token!: string;

  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @Column({ type: 'text', name: 'dns_name', collation: 'C' })
  dnsName!: string;

  @Column('text', { comment: 'key authorization (RFC 8555, 8.1)' })
  content!: string;

  @Index('challenge_file_expires')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
