import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('account')
@Check('account_country', `country ~ '^[A-Z]{2}$'`)
export class AccountEntity {
  /** Random, so that accounts cannot be counted; the part of an API key before the underscore. */
  @PrimaryColumn('bigint', { comment: 'random 47-bit integer; the prefix of every API key' })
  id!: string;

  @Column('text')
  name!: string;

  @Column('text', { name: 'contact_email', nullable: true })
  contactEmail!: string | null;

  /** For the distinguished name of customers' CSRs. */
  @Column('text', { nullable: true, comment: 'ISO 3166-1 alpha-2' })
  country!: string | null;

  @Column('text', { nullable: true, comment: 'state or province' })
  state!: string | null;

  @Column('text', { nullable: true })
  locality!: string | null;

  @Column('text', { nullable: true })
  organization!: string | null;

  /** Only `Accounts` and `certificate-mails.ts` access it; both also work without the column. */
  @Column({
    type: 'boolean',
    name: 'mail_when_issued',
    default: true,
    select: false,
    insert: false,
    comment: 'a mail for each instance of the certificate API (v2) that is issued',
  })
  mailWhenIssued!: boolean;

  @Column({
    type: 'boolean',
    name: 'mail_when_revoked',
    default: true,
    select: false,
    insert: false,
    comment: 'a mail when a revocation by the certificate API (v2) is complete',
  })
  mailWhenRevoked!: boolean;

  /** Not selected: the other processes also work without the column. */
  @Column({
    type: 'integer',
    name: 'max_monitored_domains',
    default: 1000,
    select: false,
    insert: false,
    comment: 'limit for new monitored domains; those over it stay',
  })
  maxMonitoredDomains!: number;

  @Column({
    type: 'integer',
    name: 'max_monitored_endpoints',
    default: 1000,
    select: false,
    insert: false,
    comment: 'limit for new monitored endpoints; those over it stay',
  })
  maxMonitoredEndpoints!: number;

  @Column({
    type: 'integer',
    name: 'max_findings_per_day',
    default: 10000,
    select: false,
    insert: false,
    comment: 'beyond it, certificates that concern the account are only counted',
  })
  maxFindingsPerDay!: number;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'disabled_at', nullable: true })
  disabledAt!: Date | null;
}
