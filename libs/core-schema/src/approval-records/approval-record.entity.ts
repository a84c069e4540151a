import type { ApprovalRecord, ApprovalRecordState, Outcome } from '@certwright/issuance';
import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { DnsIntegrationEntity } from '../dns-integrations/dns-integration.entity';

/**
 * A standing approval record that the platform publishes through an integration. The holder of the integration's
 * lease changes its state; others only request: a record, a check, another integration.
 */
@Entity('approval_record')
@Check('approval_record_state', `state IN ('wanted', 'standing', 'unwanted', 'removed')`)
@Check('approval_record_removed_is_final', `(state = 'removed') = (removed_at IS NOT NULL)`)
@Index('approval_record_of_name', ['accountId', 'dnsName'], { unique: true, where: `state <> 'removed'` })
@Index('approval_record_due', ['dueAt'], { where: `state <> 'removed' AND due_at IS NOT NULL` })
@Index('approval_record_removed', ['removedAt'], { where: `state = 'removed'` })
export class ApprovalRecordEntity implements Omit<ApprovalRecord, 'problem'> {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Index('approval_record_integration')
  @ForeignKey(() => DnsIntegrationEntity)
  @Column('bigint', { name: 'integration_id' })
  integrationId!: string;

  /** Without `*.`: a name and its wildcard are approved at the same place. */
  @Column({ type: 'text', name: 'dns_name', collation: 'C' })
  dnsName!: string;

  @Column({
    type: 'text',
    name: 'zone_name',
    collation: 'C',
    comment: 'the zone of the integration that holds it',
  })
  zoneName!: string;

  /** `_acme-challenge.<dns_name>` → this target, as a CNAME. */
  @Column('text')
  target!: string;

  @Column('text')
  state!: ApprovalRecordState;

  /** Set before the first request to add it: from then on the record may exist, with or without a handle. */
  @Column('timestamptz', { name: 'attempted_at', nullable: true })
  attemptedAt!: Date | null;

  /** When the gateway last confirmed it; null: it must be added, possibly again. */
  @Column('timestamptz', { name: 'added_at', nullable: true })
  addedAt!: Date | null;

  /** Handle for removing it; null: not added by us, or the response was lost. */
  @Column('text', { name: 'record_handle', nullable: true, comment: 'sealed by the gateway' })
  recordHandle!: string | null;

  /** Since when it is left unchanged because a different record replaced it. */
  @Column('timestamptz', { name: 'stopped_at', nullable: true })
  stoppedAt!: Date | null;

  /** Null when there is no problem. For releases without outcomes; read with `storedOutcome`. */
  @Column('text', { nullable: true })
  problem!: string | null;

  @Column('jsonb', { nullable: true, comment: 'counts only with the text of problem' })
  outcome!: Outcome | null;

  @Column('integer', { default: 0, comment: 'failures in a row' })
  failures!: number;

  /** Next attempt; null: none. */
  @Column('timestamptz', { name: 'due_at', nullable: true })
  dueAt!: Date | null;

  /** Read before each decision: a due time that was computed before the newest request is discarded. */
  @Column('integer', { default: 0, comment: 'number of requested checks' })
  asks!: number; // language: name of the column

  @Column('timestamptz', {
    name: 'standing_at',
    nullable: true,
    comment: 'last seen at every authoritative server since it was added',
  })
  standingAt!: Date | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'removed_at', nullable: true })
  removedAt!: Date | null;
}
