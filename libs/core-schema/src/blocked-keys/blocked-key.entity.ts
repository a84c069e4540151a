import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * A public key that must not be certified, for example because its private key is published. A tenant's report
 * applies only to that tenant: CSRs are not secret, so one tenant could report another's key.
 */
@Entity('blocked_key')
@Check('blocked_key_spki_sha256_length', `octet_length(spki_sha256) = 32`)
export class BlockedKeyEntity {
  @PrimaryColumn('bytea', { name: 'spki_sha256', comment: 'SHA-256 over the DER SubjectPublicKeyInfo' })
  spkiSha256!: Buffer;

  @PrimaryColumn('bigint', { name: 'account_id', default: 0, comment: '0: blocked for everybody' })
  accountId!: string;

  @Column('text')
  reason!: string;

  @Column('timestamptz', { name: 'added_at', default: () => 'now()' })
  addedAt!: Date;
}
