import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { DnsIntegrationEntity } from '../dns-integrations/dns-integration.entity';

/**
 * A TXT value at the target of a standing record while a CA validates: served by approval-responder, or added to the
 * operator's own DNS zone through an integration. There only the holder of the integration's lease adds and removes
 * it, and the row stays until the record is removed.
 */
@Entity('challenge_record')
@Check('challenge_record_value', `value ~ '^[A-Za-z0-9_-]{43}$'`)
@Check(
  'challenge_record_added_by',
  `integration_id IS NOT NULL OR (attempted_at IS NULL AND record_handle IS NULL)`,
)
@Check('challenge_record_handle_after_attempt', `record_handle IS NULL OR attempted_at IS NOT NULL`)
@Index('challenge_record_hosted', ['integrationId'], { where: 'integration_id IS NOT NULL' })
export class ChallengeRecordEntity {
  /** Of the delegation: below the approval zone. */
  @PrimaryColumn('text', { collation: 'C' })
  label!: string;

  @PrimaryColumn('text', {
    collation: 'C',
    comment: 'base64url SHA-256 of the key authorization (RFC 8555, 8.4)',
  })
  value!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  /** Without `*.`. */
  @Column({ type: 'text', name: 'dns_name', collation: 'C' })
  dnsName!: string;

  @Index('challenge_record_expires')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
  /** Integration that publishes it; null: approval-responder serves it. */
  @ForeignKey(() => DnsIntegrationEntity)
  @Column('bigint', { name: 'integration_id', nullable: true })
  integrationId!: string | null;

  /** Not null: the record may exist. Stored before the gateway is requested to change it. */
  @Column('timestamptz', { name: 'attempted_at', nullable: true, comment: 'last, to add or to remove' })
  attemptedAt!: Date | null;

  /** Handle for removing it; null: it was not added, or the handle is unknown. */
  @Column('text', { name: 'record_handle', nullable: true, comment: 'sealed by the gateway' })
  recordHandle!: string | null;
}
