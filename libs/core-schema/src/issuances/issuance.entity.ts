import type { Issuance, IssuanceState } from '@certwright/issuance';
import type { StoredApproval, StoredIssuanceError } from '@certwright/outcome-messages';
import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { PlanEntity } from '../plans/plan.entity';
import { TermsEntity } from '../plans/terms.entity';
import { traceparentColumn } from '../transactions/traceparent';

@Entity('issuance')
@Check('issuance_state', `state IN ('open', 'issued', 'superseded', 'canceled', 'failed')`)
@Check('issuance_closed_when_not_open', `(state = 'open') = (closed_at IS NULL)`)
@Index('issuance_one_open_per_plan', ['planId'], { unique: true, where: `state = 'open'` })
@Index('issuance_one_issued_per_revision', ['planId', 'revision'], {
  unique: true,
  where: `state = 'issued' AND replaces_certificate_id IS NULL`,
})
@Index('issuance_one_replacement', ['replacesCertificateId'], {
  unique: true,
  where: `state IN ('open', 'issued') AND replaces_certificate_id IS NOT NULL`,
})
@Index('issuance_due', ['dueAt'], { where: `state = 'open'` })
@Index('issuance_due_of_account', ['accountId', 'dueAt'], { where: `state = 'open'` })
@Index('issuance_waiting', ['openedAt', 'id'], { where: `state = 'open' AND waits_for IS NOT NULL` })
@Index('issuance_strays', ['closedAt', 'id'], {
  where: `NOT strays_checked AND ca_reference IS NOT NULL AND state <> 'open'`,
})
@Index('issuance_plan', ['planId', 'id'])
export class IssuanceEntity implements Omit<Issuance, 'approvals' | 'lastError'> {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  /** Public id, random so that issuances cannot be counted. */
  @Index('issuance_public_id', { unique: true })
  @Column('bigint', { name: 'public_id', default: () => 'random_id()', comment: 'random 48-bit integer' })
  publicId!: string;

  @ForeignKey(() => PlanEntity)
  @Column('bigint', { name: 'plan_id' })
  planId!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @ForeignKey(() => TermsEntity)
  @Column('bigint', { name: 'terms_id' })
  termsId!: string;

  @Column('integer', { comment: 'the revision of the plan that this issuance serves' })
  revision!: number;

  /** Set when the plan is unchanged and its certificate merely runs out: one replacement per certificate. */
  @Column('bigint', { name: 'replaces_certificate_id', nullable: true })
  replacesCertificateId!: string | null;

  @Column('text')
  state!: IssuanceState;

  @Column('jsonb')
  approvals!: StoredApproval[];

  @Column('text', {
    name: 'ca_reference',
    nullable: true,
    comment: 'stored before anything is spent at the CA',
  })
  caReference!: string | null;

  @Column('integer', { default: 0, comment: 'failures in a row' })
  failures!: number;

  @Column('jsonb', { name: 'last_error', nullable: true })
  lastError!: StoredIssuanceError | null;

  @Column('timestamptz', { name: 'opened_at', default: () => 'now()' })
  openedAt!: Date;

  /** Cleared when it is leased, and when one of them is up again. */
  @Column('text', { name: 'waits_for', array: true, nullable: true, comment: 'names of CAs that are down' })
  waitsFor!: string[] | null;

  @Column('timestamptz', { name: 'due_at', comment: 'not to be looked at before' })
  dueAt!: Date;

  /** The fencing token: incremented with each lease; a write with an older one changes no row. */
  @Column('bigint', { name: 'lease_token', default: 0 })
  leaseToken!: string;

  @Column('timestamptz', { name: 'leased_until', nullable: true, comment: 'by the clock of the database' })
  leasedUntil!: Date | null;

  /** Otherwise the holder of the lease would overwrite the requested due time with its own, later one. */
  @Column('boolean', { default: false, comment: 'requested again while it was leased' })
  hastened!: boolean; // language: name of the column

  @Column('timestamptz', {
    name: 'expires_by',
    nullable: true,
    comment: 'when what was paid for ends: the certificate is not to be valid longer',
  })
  expiresBy!: Date | null;

  /** 'infinity': it was closed, and a certificate with a blocked key is still to be collected. */
  @Column('timestamptz', { name: 'closed_at', nullable: true })
  closedAt!: Date | null;

  /** Not selected: processes of the previous release work without the column. */
  @Column({
    type: 'boolean',
    name: 'strays_checked',
    default: false,
    select: false,
    insert: false,
    comment: 'after it was closed, the index was searched for certificates of it that were not received',
  })
  straysChecked!: boolean;

  @Column('text', traceparentColumn)
  traceparent!: string | null;
}
