import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { ApiKeyEntity } from '../accounts/api-key.entity';
import { PlanEntity } from '../plans/plan.entity';

export const findingStates = ['waiting', 'known', 'unknown', 'acknowledged'] as const;
export type FindingState = (typeof findingStates)[number];

/** Why a finding has its state, in the order of the rules. */
export const findingReasons = [
  'certificate',
  'order_key',
  'known_cert',
  'known_key',
  'authorized_ca',
  'waiting',
  'unknown',
] as const;
export type FindingReason = (typeof findingReasons)[number];

export type FindingSource = 'stream' | 'backfill' | 'test';

/** A name in a certificate, and the monitored domain that decides about it. */
export interface FindingEndpoint {
  readonly dns_name: string;
  readonly monitored_domain: string;
  readonly wildcard: boolean;
  readonly odd_name: boolean;
}

/** What an alert says beside the finding; written before the alert is sent. */
export interface FindingAlert {
  readonly issuer: {
    readonly friendly_name: string | null;
    readonly website: string | null;
    readonly caa_domains: readonly string[] | null;
    readonly operator: string | null;
  };
  readonly problem_reporting: string | null;
  /** `first`, `renewal`, or what differs from the newest finding that shares a monitored name. */
  readonly change: 'first' | 'renewal' | readonly ('new_names' | 'new_issuer' | 'new_key')[];
  readonly caa: 'allows' | 'forbids' | 'unknown';
  /** Empty: there is no page of it. */
  readonly html_url: string;
}

/** One certificate that concerns one account. Deleted 30 days after the certificate expired. */
@Entity('monitoring_finding')
@Check('monitoring_finding_state', `state IN ('waiting', 'known', 'unknown', 'acknowledged')`)
@Check('monitoring_finding_waiting', `(state = 'waiting') = (classify_at IS NOT NULL)`)
@Check('monitoring_finding_acknowledged', `(state = 'acknowledged') = (acknowledged_at IS NOT NULL)`)
@Check('monitoring_finding_source', `source IN ('stream', 'backfill', 'test')`)
@Check('monitoring_finding_digest', `octet_length(tbs_sha256) = 32`)
@Index('monitoring_finding_page', ['accountId', 'foundAt', 'tbsSha256'])
@Index('monitoring_finding_list', ['accountId', 'state', 'foundAt', 'tbsSha256'])
@Index('monitoring_finding_to_classify', ['accountId', 'classifyAt'], { where: `classify_at IS NOT NULL` })
@Index('monitoring_finding_to_alert', ['accountId', 'alertDueAt'], { where: `alert_due_at IS NOT NULL` })
@Index('monitoring_finding_to_mail', ['accountId', 'foundAt'], { where: `mail_due` })
@Index('monitoring_finding_key', ['accountId', 'spkiSha256'])
@Index('monitoring_finding_expired', ['notAfter'])
@Index('monitoring_finding_open', ['accountId', 'tbsSha256'], { where: `state IN ('waiting', 'unknown')` })
export class MonitoringFindingEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @PrimaryColumn('bytea', {
    name: 'tbs_sha256',
    comment:
      'SHA-256 over the DER TBSCertificate without poison and SCT list; of an entry that cannot be read: over its stored bytes',
  })
  tbsSha256!: Buffer;

  @Column('bigint', {
    nullable: true,
    comment: 'of the issuance in the index; null: an entry that cannot be read, or a test',
  })
  position!: string | null;

  @Column('bytea', {
    name: 'spki_sha256',
    nullable: true,
    comment: 'SHA-256 over the DER SubjectPublicKeyInfo',
  })
  spkiSha256!: Buffer | null;

  @Column('bytea', {
    name: 'issuer_spki_sha256',
    nullable: true,
    comment: 'SHA-256 over the DER SubjectPublicKeyInfo of the issuer',
  })
  issuerSpkiSha256!: Buffer | null;

  @Column('timestamptz', { name: 'not_before', nullable: true })
  notBefore!: Date | null;

  @Column('timestamptz', {
    name: 'not_after',
    comment: 'of an entry that cannot be read: when it was found',
  })
  notAfter!: Date;

  @Column('bytea', {
    name: 'dns_names_sha256',
    comment: 'SHA-256 over all names of the certificate, sorted, joined by line feeds',
  })
  dnsNamesSha256!: Buffer;

  @Column('jsonb', { comment: 'the first 100 names that concern the account' })
  endpoints!: readonly FindingEndpoint[];

  @Column('integer', { name: 'endpoint_count' })
  endpointCount!: number;

  @Column('text', { array: true, name: 'dns_names', comment: 'those of endpoints' })
  dnsNames!: string[];

  @Column('text', { array: true, name: 'monitored_domains', comment: 'those of endpoints, each once' })
  monitoredDomains!: string[];

  @Column({
    type: 'bytea',
    name: 'previous_tbs_sha256',
    nullable: true,
    comment: 'of the newest finding before it that shares a name; null: none',
  })
  previousTbsSha256!: Buffer | null;

  @Column('text')
  source!: FindingSource;

  @Column('bigint', { name: 'backfill_id', nullable: true, comment: 'change_id of the monitoring_backfill' })
  backfillId!: string | null;

  @Column('text')
  state!: FindingState;

  @Column('text')
  reason!: FindingReason;

  @ForeignKey(() => PlanEntity)
  @Column('bigint', { name: 'plan_id', nullable: true, comment: 'whose certificate or key it is' })
  planId!: string | null;

  @Column('timestamptz', { name: 'found_at', default: () => 'now()' })
  foundAt!: Date;

  @Column('timestamptz', {
    name: 'classify_at',
    nullable: true,
    comment: 'when it is classified again',
  })
  classifyAt!: Date | null;

  @Column('timestamptz', {
    name: 'alert_due_at',
    nullable: true,
    comment: 'null: no alert is to be sent, or it was sent',
  })
  alertDueAt!: Date | null;

  @Column('timestamptz', { name: 'alerted_at', nullable: true })
  alertedAt!: Date | null;

  @Column('jsonb', { nullable: true })
  alert!: FindingAlert | null;

  @Column('boolean', { name: 'mail_due', default: false })
  mailDue!: boolean;

  @Column('timestamptz', { name: 'acknowledged_at', nullable: true })
  acknowledgedAt!: Date | null;

  @ForeignKey(() => ApiKeyEntity)
  @Column('bigint', { name: 'acknowledged_by', nullable: true })
  acknowledgedBy!: string | null;

  @Column('text', { default: '' })
  note!: string;
}
