import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** The certificates of the built-in CA; their private keys are files that only the issuance worker can read. */
@Entity('ca_issuer')
@Check('ca_issuer_name', `name IN ('root', 'intermediate')`)
export class CaIssuerEntity {
  @PrimaryColumn('text')
  name!: 'root' | 'intermediate';

  @Column('bytea', { comment: 'DER' })
  certificate!: Buffer;

  @Column('bytea', { nullable: true, comment: 'newest certificate revocation list, DER' })
  crl!: Buffer | null;

  @Column('bigint', { name: 'crl_number', default: 0 })
  crlNumber!: string;

  @Column('timestamptz', { name: 'crl_next_update', nullable: true })
  crlNextUpdate!: Date | null;

  @Column('timestamptz', {
    name: 'crl_made_at',
    nullable: true,
    comment: 'null: a revocation is not on the list yet',
  })
  crlMadeAt!: Date | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
