import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { CtIssuerEntity } from '../issuers/ct-issuer.entity';

/** Of an issuer's disclosed lists: the one that has all, or one of those that together have all. */
export type CrlRole = 'full' | 'partition';

/** A place with revocation lists of an issuer, and the newest list that was accepted from there. */
@Entity('ct_crl')
@Check('ct_crl_role', `role IN ('full', 'partition')`)
@Index('ct_crl_issuer_url', ['issuer', 'url'], { unique: true })
@Index('ct_crl_due', ['host', 'dueAt'])
@Index('ct_crl_disclosed', ['issuer'], { where: 'role IS NOT NULL' })
export class CtCrlEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'ct_crl_pkey',
  })
  id!: number;

  @ForeignKey(() => CtIssuerEntity, { name: 'ct_crl_issuer' })
  @Column('integer', {
    comment: 'whose key signs it: one URL that certificates of two issuers name is two lists',
  })
  issuer!: number;

  @Column('text')
  url!: string;

  @Column('text')
  host!: string;

  @Column('timestamptz', {
    name: 'needed_until',
    nullable: true,
    comment: 'no certificate that names it is valid after that; null: none names it',
  })
  neededUntil!: Date | null;

  @Column('text', {
    nullable: true,
    comment: 'of what the profile of its issuer names: the full list, or one of those that together are',
  })
  role!: CrlRole | null;

  @Column('timestamptz', { name: 'due_at', default: () => 'now()' })
  dueAt!: Date;

  @Column('integer', { default: 0, comment: 'failures in a row' })
  failures!: number;

  @Column('text', { name: 'last_error', nullable: true })
  lastError!: string | null;

  @Column('text', { nullable: true })
  etag!: string | null;

  @Column('text', { name: 'last_modified', nullable: true })
  lastModified!: string | null;

  @Column('bytea', {
    name: 'content_sha256',
    nullable: true,
    comment: 'SHA-256 over the whole list as applied',
  })
  contentSha256!: Buffer | null;

  @Column('numeric', { nullable: true, comment: 'CRL number (RFC 5280, 5.2.3)' })
  number!: string | null;

  @Column('timestamptz', { name: 'this_update', nullable: true })
  thisUpdate!: Date | null;

  @Column('timestamptz', { name: 'next_update', nullable: true })
  nextUpdate!: Date | null;

  @Column('boolean', {
    default: false,
    comment: 'whether a certificate in its scope that is not on it is good',
  })
  covers!: boolean;

  @Column('integer', { default: 0, comment: 'rows of ct_revocation' })
  entries!: number;

  @Column('timestamptz', {
    name: 'checked_at',
    nullable: true,
    comment: 'when its issuer last stood by it, by a new list or by saying that nothing changed',
  })
  checkedAt!: Date | null;

  @Column('timestamptz', {
    name: 'fresh_until',
    nullable: true,
    comment: 'next_update and the grace that the setting allows',
  })
  freshUntil!: Date | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
