import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * A public key that must not be certified, such as one whose private half is known to the public. What a tenant says of
 * a key holds for that tenant alone: CSRs are no secret, so one tenant could call another's key its own.
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
