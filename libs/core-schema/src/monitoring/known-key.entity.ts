import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** A key that an account uses for certificates elsewhere, for given names. */
@Entity('known_key')
@Check('known_key_id_is_a_json_number', `id BETWEEN 1 AND 9007199254740991`)
@Check('known_key_digests', `octet_length(spki_sha256) = 32 AND octet_length(dns_names_sha256) = 32`)
@Check('known_key_dns_names', `cardinality(dns_names) BETWEEN 1 AND 100`)
@Index('known_key_of_account', ['accountId', 'spkiSha256', 'dnsNamesSha256'], { unique: true })
@Index('known_key_page', ['accountId', 'id'])
export class KnownKeyEntity {
  @PrimaryColumn('bigint', { comment: 'random 48-bit integer' })
  id!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Column('bytea', { name: 'spki_sha256', comment: 'SHA-256 over the DER SubjectPublicKeyInfo' })
  spkiSha256!: Buffer;

  @Column('text', { array: true, name: 'dns_names', comment: 'normal form, sorted' })
  dnsNames!: string[];

  /** A hundred names are too long for an index. */
  @Column('bytea', { name: 'dns_names_sha256', comment: 'SHA-256 over dns_names, joined by line feeds' })
  dnsNamesSha256!: Buffer;

  @Column('text')
  note!: string;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
