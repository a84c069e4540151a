import { DataSource, type EntityManager } from 'typeorm';
import { SearchPlanEntity } from '@certwright/core-schema';
import { SearchSubscriptionEntity } from '@certwright/core-schema';

/** What a plan allows. */
export type SearchPlanTerms = Pick<SearchPlanEntity, 'queriesPerS' | 'burst' | 'timeLimitMs' | 'firehose'>;

export interface SearchSubscription {
  readonly plan: string;
  /** Null: paid. */
  readonly suspendedAt: Date | null;
}

/** What a plan that is new must say. */
const needed = ['queriesPerS', 'burst', 'timeLimitMs'] as const;

/** Plans of the search, and who has subscribed to them: for those who administer a deployment. */
export class SearchPlans {
  constructor(private readonly database: DataSource) {}

  /** By name. */
  async list(): Promise<readonly SearchPlanEntity[]> {
    return await this.database.getRepository(SearchPlanEntity).find({ order: { name: 'ASC' } });
  }

  /**
   * Makes a plan, or changes what is given of one.
   *
   * @param isDefault whether every account without a subscription has this plan from now on
   * @throws Error when it is new and says too little
   */
  async set(name: string, terms: Partial<SearchPlanTerms>, { isDefault = false } = {}): Promise<void> {
    await this.database.transaction(async (tx) => {
      // Those who change plans take turns, so that no two become the default one; reading goes on.
      await tx.query(`LOCK TABLE search_plan IN SHARE ROW EXCLUSIVE MODE`);
      const plans = tx.getRepository(SearchPlanEntity);
      const known = await plans.findOneBy({ name });
      const missing = known === null ? needed.filter((term) => terms[term] === undefined) : [];
      if (missing.length > 0)
        throw new Error(`There is no search plan ${name} yet; a new one needs ${missing.join(', ')}.`);
      await plans.save({ ...(known ?? { name }), ...terms });
      if (!isDefault) return;
      // One after the other: the unique index does not wait for the end of the transaction.
      await plans.update({ isDefault: true }, { isDefault: false });
      await plans.update({ name }, { isDefault: true });
    });
  }

  /** Without a subscription: null. */
  async subscriptionOf(accountId: string): Promise<SearchSubscription | null> {
    return await this.database.getRepository(SearchSubscriptionEntity).findOneBy({ accountId });
  }

  /** A subscription that is suspended stays so under another plan. @throws Error when there is no such plan */
  async subscribe(accountId: string, plan: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await existingPlan(tx, plan);
      await tx.upsert(SearchSubscriptionEntity, { accountId, plan }, ['accountId']);
    });
  }

  /** Keeps since when, where it is suspended already. @throws Error when there is no subscription */
  async suspend(accountId: string): Promise<void> {
    await this.#mark(accountId, 'coalesce(suspended_at, now())');
  }

  /** @throws Error when there is no subscription */
  async resume(accountId: string): Promise<void> {
    await this.#mark(accountId, 'NULL');
  }

  async #mark(accountId: string, suspendedAt: string): Promise<void> {
    const { affected } = await this.database
      .createQueryBuilder()
      .update(SearchSubscriptionEntity)
      .set({ suspendedAt: () => suspendedAt })
      .where({ accountId })
      .execute();
    if (affected === 0)
      throw new Error(`Account ${accountId} has no subscription: it searches under the default plan.`);
  }
}

/** Plans are never deleted. */
async function existingPlan(tx: EntityManager, name: string): Promise<void> {
  const plans = tx.getRepository(SearchPlanEntity);
  if (await plans.existsBy({ name })) return;
  const there = (await plans.find({ order: { name: 'ASC' } })).map((plan) => plan.name);
  throw new Error(`There is no search plan ${name}; there are: ${there.join(', ')}.`);
}
