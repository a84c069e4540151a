import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The certificates of the built-in CA: roots, whose keys are offline, and intermediates, whose keys only the issuance
 * worker has. The intermediate that was activated last issues; the others only sign their revocation lists.
 */
@Entity('ca_issuer')
@Check('ca_issuer_name', `name ~ '^(root|intermediate)(-[1-9][0-9]{0,5})?$'`)
export class CaIssuerEntity {
  @PrimaryColumn('text', { comment: 'as in the URLs of its certificate and revocation list' })
  name!: string;

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

  @Column('timestamptz', {
    name: 'activated_at',
    nullable: true,
    default: () => 'now()',
    comment: 'intermediates: the last one issues; null: it has not issued yet',
  })
  activatedAt!: Date | null;

  @Column('timestamptz', {
    name: 'retired_at',
    nullable: true,
    comment: 'intermediates: workers no longer need its key, since every certificate of it has expired',
  })
  retiredAt!: Date | null;
}
