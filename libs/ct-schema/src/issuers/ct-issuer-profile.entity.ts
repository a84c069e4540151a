import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** What is said of an issuer outside its certificates: of one key, or of everyone with an organization in their name. */
@Entity('ct_issuer_profile')
export class CtIssuerProfileEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'ct_issuer_profile_pkey',
  })
  id!: number;

  @Index('ct_issuer_profile_organization', { unique: true })
  @Column('text', {
    nullable: true,
    comment: 'for issuers with this organization in their name and no profile of their key',
  })
  organization!: string | null;

  @Index('ct_issuer_profile_spki_sha256', { unique: true })
  @Column('bytea', {
    name: 'spki_sha256',
    nullable: true,
    comment: 'SHA-256 over the DER SubjectPublicKeyInfo; null while the key is not known',
  })
  spkiSha256!: Buffer | null;

  @Index('ct_issuer_profile_subject_key_id', { unique: true })
  @Column('bytea', {
    name: 'subject_key_id',
    nullable: true,
    comment: 'by which a key is recognised of which only a digest is known',
  })
  subjectKeyId!: Buffer | null;

  @Column('bytea', {
    array: true,
    default: () => `'{}'`,
    comment: 'SHA-256 over each DER certificate with the key',
  })
  certificates!: Buffer[];

  @Column('text', { name: 'friendly_name', nullable: true })
  friendlyName!: string | null;

  @Column('text', { nullable: true })
  website!: string | null;

  @Column('text', { name: 'caa_domains', array: true, nullable: true })
  caaDomains!: string[] | null;

  @Column('text', { name: 'operator_name', nullable: true })
  operatorName!: string | null;

  @Column('text', { name: 'operator_website', nullable: true })
  operatorWebsite!: string | null;

  @Column('text', { name: 'problem_reporting', nullable: true })
  problemReporting!: string | null;

  @Column('text', { name: 'full_crls', array: true, default: () => `'{}'` })
  fullCrls!: string[];

  @Column('text', { name: 'partitioned_crls', array: true, default: () => `'{}'` })
  partitionedCrls!: string[];

  @Column('date', { name: 'as_of', comment: 'the day of the source' })
  asOf!: string;

  @Column('text')
  source!: string;
}
