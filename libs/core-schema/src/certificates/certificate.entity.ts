import type { Certificate, KeyType } from '@certwright/issuance';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { IssuanceEntity } from '../issuances/issuance.entity';
import { PlanEntity } from '../plans/plan.entity';
import { CertificateChainEntity } from './certificate-chain.entity';

@Entity('certificate')
@Check('certificate_key_type', `key_type IN ('rsa', 'ecdsa')`)
@Check('certificate_validity', `not_before < not_after`)
@Check('certificate_dns_names_not_empty', `cardinality(dns_names) > 0`)
@Check('certificate_id_is_a_json_number', `id BETWEEN 1 AND 9007199254740991`)
@Index('certificate_one_current_per_plan', ['planId'], { unique: true, where: 'is_current' })
@Index('certificate_to_revoke', ['revokedAt'], { where: 'revoked_at IS NOT NULL AND ca_revoked_at IS NULL' })
@Index('certificate_current_expiry', ['notAfter'], { where: 'is_current' })
@Check('certificate_imported', `imported = (issuance_id IS NULL)`)
@Index('certificate_sha256', ['sha256'], { unique: true, where: 'NOT imported' })
@Index('certificate_imported_once', ['planId', 'sha256'], { unique: true, where: 'imported' })
@Index('certificate_key_of_plan', ['planId', 'spkiSha256'])
@Index('certificate_key_of_account', ['accountId', 'spkiSha256'])
@Index('certificate_tbs_of_account', ['accountId', 'tbsSha256'])
@Index('certificate_created', ['createdAt'])
@Index('certificate_current_names', ['dnsNames'], { where: 'is_current', type: 'gin' })
@Index('certificate_to_sight', ['notAfter', 'id'], {
  where: 'sct_at IS NOT NULL AND sighted_at IS NULL AND NOT imported',
})
@Index('certificate_without_tbs', ['id'], { where: 'tbs_sha256 IS NULL' })
@Index('certificate_plan', ['planId', 'createdAt', 'id'])
export class CertificateEntity implements Certificate {
  /** Random, so that certificates cannot be counted. */
  @PrimaryColumn('bigint', { comment: 'random 48-bit integer' })
  id!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @ForeignKey(() => PlanEntity)
  @Column('bigint', { name: 'plan_id' })
  planId!: string;

  /** At most one certificate per issuance; null for an imported one. */
  @Index('certificate_one_per_issuance', { unique: true })
  @ForeignKey(() => IssuanceEntity)
  @Column('bigint', { name: 'issuance_id', nullable: true })
  issuanceId!: string | null;

  /** Issued elsewhere: served and monitored here, and never revoked. */
  @Column('boolean', { default: false })
  imported!: boolean;

  @Column('boolean', { name: 'is_current' })
  isCurrent!: boolean;

  @Column('text', { name: 'dns_names', array: true })
  dnsNames!: string[];

  @Column('text', { name: 'key_type' })
  keyType!: KeyType;

  @Column('text', { name: 'serial_number', comment: 'lower-case hex' })
  serialNumber!: string;

  @Column('timestamptz', { name: 'not_before' })
  notBefore!: Date;

  @Column('timestamptz', { name: 'not_after' })
  notAfter!: Date;

  @Column('bytea', { comment: 'SHA-256 over the DER certificate' })
  sha256!: Buffer;

  @Column('bytea', { name: 'spki_sha256', comment: 'SHA-256 over the DER SubjectPublicKeyInfo' })
  spkiSha256!: Buffer;

  @Column('bytea', { comment: 'DER' })
  leaf!: Buffer;

  /** Not selected: processes of the previous release work without the column. */
  @Column({
    type: 'bytea',
    name: 'tbs_sha256',
    nullable: true,
    select: false,
    insert: false,
    comment:
      'SHA-256 over the DER TBSCertificate without poison and SCT list (RFC 6962, 3.2); null: not computed yet',
  })
  tbsSha256!: Buffer | null;

  @Column({
    type: 'timestamptz',
    name: 'sct_at',
    nullable: true,
    select: false,
    insert: false,
    comment: 'when its first SCT was known: since then a log must publish it; null: it has none',
  })
  sctAt!: Date | null;

  @Column({
    type: 'timestamptz',
    name: 'sighted_at',
    nullable: true,
    select: false,
    insert: false,
    comment: 'when the index of public certificates discovered it; null: not found yet, or not looked for',
  })
  sightedAt!: Date | null;

  @Column({
    type: 'timestamptz',
    name: 'not_logged_at',
    nullable: true,
    select: false,
    insert: false,
    comment: 'when it was reported that the index does not have it; it may be found later',
  })
  notLoggedAt!: Date | null;

  @ForeignKey(() => CertificateChainEntity)
  @Column('bytea', { name: 'chain_sha256' })
  chainSha256!: Buffer;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt!: Date | null;

  @Column('integer', { name: 'revocation_reason', nullable: true, comment: 'CRLReason, RFC 5280, 5.3.1' })
  revocationReason!: number | null;

  /** The CA's own handle, with which it can be revoked. */
  @Column('text', { name: 'ca_reference', nullable: true })
  caReference!: string | null;

  /** When the CA confirmed the revocation; null: not confirmed, or not revoked. */
  @Column('timestamptz', { name: 'ca_revoked_at', nullable: true })
  caRevokedAt!: Date | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
