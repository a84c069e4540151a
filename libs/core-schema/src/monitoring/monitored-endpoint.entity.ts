import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** A host whose certificate is checked: a name found in certificates, or monitored by name. */
@Entity('monitored_endpoint')
@Check('monitored_endpoint_ports', `cardinality(ports) BETWEEN 1 AND 4`)
export class MonitoredEndpointEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @PrimaryColumn('text', { name: 'dns_name', collation: 'C', comment: 'normal form, no wildcard' })
  dnsName!: string;

  @Column('boolean', { default: false })
  muted!: boolean;

  @Column('integer', { array: true, default: () => `'{443}'`, comment: 'ascending' })
  ports!: number[];

  @Column('timestamptz', { name: 'found_at', default: () => 'now()' })
  foundAt!: Date;

  @Column('timestamptz', {
    name: 'last_not_after',
    nullable: true,
    comment: 'latest expiry of its certificates; null: monitored by name, no certificate',
  })
  lastNotAfter!: Date | null;
}
