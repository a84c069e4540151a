import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { SearchPlanEntity } from './search-plan.entity';

/** Which plan an account searches under. Without a row: the default one. */
@Entity('search_subscription')
export class SearchSubscriptionEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @ForeignKey(() => SearchPlanEntity)
  @Column('text')
  plan!: string;

  @Column('timestamptz', {
    name: 'suspended_at',
    nullable: true,
    comment: 'not paid: nothing is answered under it; null: paid',
  })
  suspendedAt!: Date | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
