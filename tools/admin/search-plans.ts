import { SearchPlans, type SearchPlanTerms } from '@certwright/accounts';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
import { boolean, integer } from './option-values';
import type { WithDatabase } from './with-database';

interface PlanOptions extends Partial<SearchPlanTerms> {
  readonly default?: true;
}

export function searchCommands(withDatabase: WithDatabase): Command {
  const search = new Command('search').description(
    'plans and subscriptions for certificate search; changes take effect within 10 seconds',
  );
  search.addCommand(planCommands(withDatabase));
  search
    .command('show <account>')
    .description('show the search plan of an account')
    .action(async (account: string) => await onAccount(withDatabase, account, () => undefined));
  search
    .command('subscribe <account> <plan>')
    .description('subscribe an account to a plan instead of its previous one; a suspension is kept')
    .action(
      async (account: string, plan: string) =>
        await onAccount(withDatabase, account, async (plans, id) => await plans.subscribe(id, plan)),
    );
  search
    .command('suspend <account>')
    .description('suspend an unpaid subscription: all keys of the account get 402')
    .action(
      async (account: string) =>
        await onAccount(withDatabase, account, async (plans, id) => await plans.suspend(id)),
    );
  search
    .command('resume <account>')
    .description('end a suspension')
    .action(
      async (account: string) =>
        await onAccount(withDatabase, account, async (plans, id) => await plans.resume(id)),
    );
  return search;
}

function planCommands(withDatabase: WithDatabase): Command {
  const plan = new Command('plan').description('limits of subscriptions');
  plan
    .command('list')
    .description('list the plans with their limits')
    .action(async () => {
      await withDatabase(async (database) => {
        for (const row of await new SearchPlans(database).list()) console.log(JSON.stringify(row));
      });
    });
  plan
    .command('set <name>')
    .description('create a plan, or change its limits for all its subscribers')
    .option(
      '--queries-per-s <count>',
      'for all keys of an account together, 1 to 100000',
      integer(1, 100_000),
    )
    .option('--burst <count>', 'queries at once after a pause, 1 to 1000000', integer(1, 1_000_000))
    .option('--time-limit-ms <ms>', 'maximum duration of a query, 100 to 600000', integer(100, 600_000))
    .option('--firehose <true|false>', 'whether the stream of all issuances may be read', boolean)
    .option('--default', 'make it the plan of every account without a subscription')
    .action(async (name: string, { default: isDefault, ...terms }: PlanOptions) => {
      planName(name);
      if (isDefault === undefined && Object.keys(terms).length === 0)
        throw new Error('Nothing to change: see `search plan set --help`.');
      await withDatabase(async (database) => {
        const plans = new SearchPlans(database);
        await plans.set(name, terms, { isDefault: isDefault === true });
        const changed = (await plans.list()).find((each) => each.name === name);
        console.log(JSON.stringify(changed));
      });
    });
  return plan;
}

/** Changes the subscription of an account, and prints the result. */
async function onAccount(
  withDatabase: WithDatabase,
  account: string,
  act: (plans: SearchPlans, accountId: string) => Promise<void> | undefined,
): Promise<void> {
  await withDatabase(async (database) => {
    const accountId = await existingAccount(database, account);
    await act(new SearchPlans(database), accountId);
    console.log(await summary(database, accountId));
  });
}

async function summary(database: DataSource, accountId: string): Promise<string> {
  const subscription = await new SearchPlans(database).subscriptionOf(accountId);
  if (subscription === null) return `account ${accountId}: no subscription, the default plan`;
  const { plan, suspendedAt } = subscription;
  const state = suspendedAt === null ? '' : `, suspended since ${suspendedAt.toISOString().slice(0, 19)}Z`;
  return `account ${accountId}: plan ${plan}${state}`;
}

/** Equals the check constraint of the table. */
function planName(text: string): void {
  if (!/^[a-z0-9][a-z0-9_-]{0,62}$/.test(text))
    throw new Error('The name of a plan has 1 to 63 lower-case letters, digits, hyphens and underscores.');
}
