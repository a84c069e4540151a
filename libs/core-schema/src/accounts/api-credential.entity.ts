import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { AccountEntity } from './account.entity';
import { ApiKeyEntity } from './api-key.entity';

/** The one API key of an account that its users can retrieve again, sealed. */
@Entity('api_credential')
export class ApiCredentialEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @ForeignKey(() => ApiKeyEntity)
  @Column('bigint', { name: 'api_key_id' })
  apiKeyId!: string;

  @Column('bytea', { name: 'key_sealed', comment: 'sealed API key' })
  keySealed!: Buffer;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
