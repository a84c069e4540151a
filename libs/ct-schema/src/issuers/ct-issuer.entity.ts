import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** Who signed: a key under a name. */
@Entity('ct_issuer')
@Index('ct_issuer_key_and_name', ['spkiSha256', 'nameSha256'], { unique: true })
@Index('ct_issuer_name', ['nameSha256'])
export class CtIssuerEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'ct_issuer_pkey',
  })
  id!: number;

  @Column('bytea', { name: 'spki_sha256', comment: 'SHA-256 over the DER SubjectPublicKeyInfo' })
  spkiSha256!: Buffer;

  @Column('bytea', { name: 'name_sha256', comment: 'SHA-256 over name_der' })
  nameSha256!: Buffer;

  @Column('bytea', { name: 'name_der', comment: 'DER Name, as it stands in the issuer field' }) // language: comment of a stored column
  nameDer!: Buffer;

  @Column('bytea', { name: 'spki_der', nullable: true, comment: 'null while no CA certificate was seen' })
  spkiDer!: Buffer | null;

  @Column('bytea', { name: 'certificate_der', nullable: true, comment: 'one of its CA certificates' })
  certificateDer!: Buffer | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
