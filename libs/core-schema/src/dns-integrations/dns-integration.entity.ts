import type { Outcome } from '@certwright/issuance';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/**
 * A customer's DNS provider. Only the gateway can open the credentials: the handle is opaque here. Requests to the
 * gateway require the row's lease, since a response may contain a new handle.
 */
@Entity('dns_integration')
@Check('dns_integration_id_is_a_json_number', `id BETWEEN 1 AND 9007199254740991`)
@Check('dns_integration_handle_until_deleted', `handle IS NOT NULL OR deleted_at IS NOT NULL`)
@Check('dns_integration_state', `state IN ('ok', 'failing')`)
@Index('dns_integration_zones_due', ['zonesDueAt'], { where: 'deleted_at IS NULL' })
export class DnsIntegrationEntity {
  @PrimaryColumn('bigint', { comment: 'random 48-bit integer' })
  id!: string;

  @Index('dns_integration_account')
  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Column('text')
  provider!: string;

  /** For people. */
  @Column('text')
  description!: string;

  /** Null once it is deleted and its last record is removed. */
  @Column('text', { nullable: true, comment: 'sealed by the gateway' })
  handle!: string | null;

  @Column('text')
  state!: 'ok' | 'failing';

  /** Null while it works. For releases without outcomes; read with `storedOutcome`. */
  @Column('text', { nullable: true })
  problem!: string | null;

  @Column('jsonb', { nullable: true, comment: 'counts only with the text of problem' })
  outcome!: Outcome | null;

  /** When the provider last responded. */
  @Column('timestamptz', { name: 'checked_at', nullable: true })
  checkedAt!: Date | null;

  /** When its zones are listed again. */
  @Column('timestamptz', { name: 'zones_due_at' })
  zonesDueAt!: Date;

  /** Failures in a row of listing the zones. */
  @Column('integer', { default: 0 })
  failures!: number;

  @Column('bigint', { name: 'lease_token', default: 0, comment: 'fencing token' })
  leaseToken!: string;

  @Column('timestamptz', { name: 'leased_until', nullable: true, comment: 'by the clock of the database' })
  leasedUntil!: Date | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  /** From then on its records are removed, and none are added. */
  @Column('timestamptz', { name: 'deleted_at', nullable: true })
  deletedAt!: Date | null;
}
