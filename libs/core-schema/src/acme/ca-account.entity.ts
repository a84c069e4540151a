import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { CertificateAuthorityEntity } from './certificate-authority.entity';

/** Our account at a CA. Its key is stored before the CA hears of it, and only the worker can open it. */
@Entity('ca_account')
@Check('ca_account_state', `state IN ('new', 'valid', 'ended')`)
@Check('ca_account_url_when_valid', `state <> 'valid' OR account_url IS NOT NULL`)
@Check('ca_account_rollover', `next_key_sealed IS NULL OR rollover_due_at IS NOT NULL`)
@Index('ca_account_of_authority', ['authority'], { unique: true, where: `state <> 'ended'` })
export class CaAccountEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @ForeignKey(() => CertificateAuthorityEntity)
  @Column('text')
  authority!: string;

  @Column('text')
  state!: 'new' | 'valid' | 'ended';

  @Column('text', { name: 'account_url', nullable: true })
  accountUrl!: string | null;

  @Column('bytea', { name: 'key_sealed', comment: 'sealed PKCS#8' })
  keySealed!: Buffer;

  /** Stored before the request to the CA to replace the other one. */
  @Column('bytea', { name: 'next_key_sealed', nullable: true, comment: 'sealed PKCS#8' })
  nextKeySealed!: Buffer | null;

  /** 'infinity', which is read as a number: the CA knows neither key, and the change waits for an operator. */
  @Column('timestamptz', {
    name: 'rollover_due_at',
    nullable: true,
    comment: 'when the change of key is gone on with; null: none is wanted',
  })
  rolloverDueAt!: Date | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  // Not selected: only `CaAccounts.denied` reads them.
  @Column('timestamptz', {
    name: 'denied_since',
    nullable: true,
    select: false,
    comment: 'since then the CA has responded that the account does not exist; null: it knows it',
  })
  deniedSince?: Date | null;

  @Column('timestamptz', {
    name: 'denied_at',
    nullable: true,
    select: false,
    comment: 'when it last did',
  })
  deniedAt?: Date | null;
}
