import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** Response below /.well-known/ for a token, to requests through the rule of this account. */
@Entity('http_challenge')
@Index('http_challenge_of_name', ['accountId', 'dnsName'], { unique: true })
export class HttpChallengeEntity {
  @PrimaryColumn('text', { collation: 'C', comment: 'base64url, at least 128 random bits' })
  token!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Column({ type: 'text', name: 'dns_name', collation: 'C' })
  dnsName!: string;

  /** The body of the response; not secret. */
  @Column('text')
  content!: string;

  @Index('http_challenge_expires')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
