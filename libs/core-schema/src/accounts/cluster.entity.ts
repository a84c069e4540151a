import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { AccountEntity } from './account.entity';

/** A group of a customer's servers whose agents make keys and install certificates. */
@Entity('cluster')
export class ClusterEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @PrimaryColumn('text', { collation: 'C' })
  name!: string;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
