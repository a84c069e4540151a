import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** Private keys of intermediates of the built-in CA, sealed with CA_ACCOUNT_KEYS; used with BUILT_IN_CA_KEYS=sealed. */
@Entity('ca_key')
@Check('ca_key_name', `name ~ '^intermediate(-[1-9][0-9]{0,5})?$'`)
export class CaKeyEntity {
  @PrimaryColumn('text', { comment: 'of the intermediate, which may have no certificate yet' })
  name!: string;

  @Column('bytea', { comment: 'PKCS#8 PEM, sealed' })
  sealed!: Buffer;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
