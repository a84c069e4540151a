import { SearchPlans, type SearchPlanTerms } from '@certwright/accounts';
import { Command, InvalidArgumentError } from 'commander';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
import type { WithDatabase } from './with-database';

interface PlanOptions extends Partial<SearchPlanTerms> {
  readonly default?: true;
}

export function searchCommands(withDatabase: WithDatabase): Command {
  const search = new Command('search').description(
    'who may search certificates, how often and how long; running processes follow within 10 seconds',
  );
  search.addCommand(planCommands(withDatabase));
  search
    .command('show <account>')
    .description('show the plan that an account searches under')
    .action(async (account: string) => await onAccount(withDatabase, account, () => undefined));
  search
    .command('subscribe <account> <plan>')
    .description('subscribe an account to a plan, in place of the one before; a suspension stays')
    .action(
      async (account: string, plan: string) =>
        await onAccount(withDatabase, account, async (plans, id) => await plans.subscribe(id, plan)),
    );
  search
    .command('suspend <account>')
    .description('answer 402 to all keys of an account whose subscription was not paid')
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
  const plan = new Command('plan').description('what a subscription allows');
  plan
    .command('list')
    .description('list the plans with all they allow')
    .action(async () => {
      await withDatabase(async (database) => {
        for (const row of await new SearchPlans(database).list()) console.log(JSON.stringify(row));
      });
    });
  plan
    .command('set <name>')
    .description('change what a plan allows, or make a plan; who has subscribed to it follows')
    .option('--queries-per-s <count>', 'of all keys of an account together, 1 to 100000', from(1, 100_000))
    .option('--burst <count>', 'queries at once after a pause, 1 to 1000000', from(1, 1_000_000))
    .option('--time-limit-ms <ms>', 'how long one query may run, 100 to 600000', from(100, 600_000))
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

/** Does something to the subscription of an account, and prints what it is then. */
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

/** The database says the same. */
function planName(text: string): void {
  if (!/^[a-z0-9][a-z0-9_-]{0,62}$/.test(text))
    throw new Error('A plan has a name of 1 to 63 lower-case letters, digits, hyphens and underscores.');
}

const from =
  (least: number, most: number) =>
  (text: string): number => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : NaN;
    if (!(value >= least && value <= most))
      throw new InvalidArgumentError(`a whole number from ${least} to ${most} is expected.`);
    return value;
  };

function boolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('true or false is expected.');
  return text === 'true';
}
