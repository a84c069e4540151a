import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { AccountEntity } from './account.entity';

@Entity('api_key')
@Check('api_key_secret_sha256_length', `octet_length(secret_sha256) = 32`)
export class ApiKeyEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @Index('api_key_account')
  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  /** The operator's label; not secret. */
  @Column('text')
  label!: string;

  @Index('api_key_secret', { unique: true })
  @Column('bytea', {
    name: 'secret_sha256',
    comment: 'SHA-256 over the whole key as sent, account id included',
  })
  secretSha256!: Buffer;

  @Column('text', { array: true })
  permissions!: string[];

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'disabled_at', nullable: true })
  disabledAt!: Date | null;
}
