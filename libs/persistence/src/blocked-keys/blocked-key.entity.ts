import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** A public key that must not be certified, such as one whose private half is known to the public. */
@Entity('blocked_key')
@Check('blocked_key_spki_sha256_length', `octet_length(spki_sha256) = 32`)
export class BlockedKeyEntity {
  @PrimaryColumn('bytea', { name: 'spki_sha256', comment: 'SHA-256 over the DER SubjectPublicKeyInfo' })
  spkiSha256!: Buffer;

  @Column('text')
  reason!: string;

  @Column('timestamptz', { name: 'added_at', default: () => 'now()' })
  addedAt!: Date;
}
