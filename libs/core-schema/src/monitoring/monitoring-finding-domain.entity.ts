import { Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/**
 * The findings of a monitored domain by state, newest last: lists and counts of an account with a million findings read only
 * what they show. A trigger writes it; tests are left out.
 */
@Entity('monitoring_finding_domain')
export class MonitoringFindingDomainEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @PrimaryColumn('text', { name: 'monitored_domain', collation: 'C' })
  monitoredDomain!: string;

  @PrimaryColumn('text')
  state!: string;

  @PrimaryColumn('timestamptz', { name: 'found_at' })
  foundAt!: Date;

  @PrimaryColumn('bytea', { name: 'tbs_sha256' })
  tbsSha256!: Buffer;
}
