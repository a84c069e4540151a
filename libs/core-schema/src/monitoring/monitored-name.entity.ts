import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** The newest certificate of an account with a name: the next one is compared with it. */
@Entity('monitored_name')
export class MonitoredNameEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @PrimaryColumn('text', {
    name: 'dns_name',
    collation: 'C',
    comment: 'as in the certificate, in lower case',
  })
  dnsName!: string;

  @Column('bytea', { name: 'tbs_sha256', comment: 'of the finding' })
  tbsSha256!: Buffer;

  @Column('bigint', { comment: 'of the issuance in the index' })
  position!: string;
}
