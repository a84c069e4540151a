import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { DnsIntegrationEntity } from './dns-integration.entity';

/** A zone that an integration may change, as the provider listed it last. */
@Entity('dns_integration_zone')
@Index('dns_integration_zone_of_account', ['accountId', 'name'])
export class DnsIntegrationZoneEntity {
  @ForeignKey(() => DnsIntegrationEntity, { onDelete: 'CASCADE' })
  @PrimaryColumn('bigint', { name: 'integration_id' })
  integrationId!: string;

  @PrimaryColumn('text', { collation: 'C', comment: 'lower case, A-labels, no dot at the end' })
  name!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  /** The provider's own, opaque. */
  @Column('text', { name: 'zone_id' })
  zoneId!: string;
}
