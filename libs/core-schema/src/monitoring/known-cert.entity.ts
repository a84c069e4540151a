import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** A certificate from elsewhere that an account recognizes as its own. */
@Entity('known_cert')
@Check('known_cert_id_is_a_json_number', `id BETWEEN 1 AND 9007199254740991`)
@Check('known_cert_digest', `octet_length(tbs_sha256) = 32`)
@Index('known_cert_of_account', ['accountId', 'tbsSha256'], { unique: true })
@Index('known_cert_page', ['accountId', 'id'])
export class KnownCertEntity {
  @PrimaryColumn('bigint', { comment: 'random 48-bit integer' })
  id!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Column('bytea', {
    name: 'tbs_sha256',
    comment: 'SHA-256 over the DER TBSCertificate without poison and SCT list',
  })
  tbsSha256!: Buffer;

  @Column('text')
  note!: string;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
