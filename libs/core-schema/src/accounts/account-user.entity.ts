import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { AccountEntity } from './account.entity';

/** A person who may sign in with email address and password. */
@Entity('account_user')
@Check('account_user_email_lower', `email = lower(email)`)
export class AccountUserEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @Index('account_user_account')
  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Index('account_user_email', { unique: true })
  @Column('text')
  email!: string;

  @Column('text', { name: 'password_hash', comment: 'scrypt:N:r:p:salt:hash, base64url' })
  passwordHash!: string;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'disabled_at', nullable: true })
  disabledAt!: Date | null;
}
