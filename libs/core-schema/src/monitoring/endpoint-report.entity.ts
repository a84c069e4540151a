import type { TrackedFinding } from '@certwright/endpoint-checks';
import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

export type EndpointReportKind = 'problem' | 'recovered';

/** What an account was notified of: findings of an endpoint, or that they are gone. Deleted after 30 days. */
@Entity('endpoint_report')
@Check('endpoint_report_kind', `kind IN ('problem', 'recovered')`)
@Index('endpoint_report_to_mail', ['accountId', 'id'], { where: 'mail_due' })
@Index('endpoint_report_age', ['reportedAt'])
export class EndpointReportEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Column({
    type: 'text',
    name: 'dns_name',
    collation: 'C',
    comment: 'of the endpoint, which may be deleted',
  })
  dnsName!: string;

  @Column('text')
  kind!: EndpointReportKind;

  @Column('jsonb', {
    comment: 'TrackedFinding[] of libs/endpoint-checks: those that are reported or withdrawn',
  })
  findings!: readonly TrackedFinding[];

  @Column('timestamptz', { name: 'reported_at', default: () => 'now()' })
  reportedAt!: Date;

  @Column('boolean', { name: 'mail_due' })
  mailDue!: boolean;
}
