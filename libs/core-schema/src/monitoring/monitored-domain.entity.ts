import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** A domain whose certificates an account watches. */
@Entity('monitored_domain')
@Check('monitored_domain_name', `name ~ '^[.]?[a-z0-9_-]+([.][a-z0-9_-]+)*$' AND length(name) <= 254`)
export class MonitoredDomainEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @PrimaryColumn('text', {
    collation: 'C',
    comment:
      'lower-case A-labels, no dot at the end; with a leading dot the domain and its whole sub-domain tree',
  })
  name!: string;

  @Column('boolean', {
    comment: 'the most specific object of the account that matches a name decides by this',
  })
  enabled!: boolean;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', {
    name: 'enabled_at',
    default: () => 'now()',
    comment: 'when it was created or last enabled',
  })
  enabledAt!: Date;
}
