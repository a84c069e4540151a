import { eventually } from '@certwright/testing';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { claimDeployment } from '@certwright/core-schema';
import { SearchPlans } from './search-plans';

let core: CoreDatabaseFixture;
let plans: SearchPlans;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  plans = new SearchPlans(core.database);
});
afterAll(async () => await core.close());

it('has one default plan, and no second one at any time', async () => {
  expect((await plans.list()).filter(({ isDefault }) => isDefault)).toMatchObject([{ name: 'free' }]);
  await expect(
    core.database.query(`UPDATE search_plan SET is_default = true WHERE name = 'standard'`),
  ).rejects.toThrow('search_plan_default');
  const other = core.database.createQueryRunner();
  await other.startTransaction();
  await other.query(`UPDATE search_plan SET is_default = false WHERE is_default`);
  await other.query(`UPDATE search_plan SET is_default = true WHERE name = 'standard'`);
  const second = plans.set('firehose', {}, { isDefault: true });
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await eventually(async () => expect(await core.database.query(waiting)).toHaveLength(1));
  await other.commitTransaction();
  await other.release();
  await second;
  expect((await plans.list()).filter(({ isDefault }) => isDefault)).toHaveLength(1);
  await plans.set('free', {}, { isDefault: true });
});

it('makes a plan when nothing is missing, and changes what is given of one', async () => {
  await expect(plans.set('team', { queriesPerS: 5 })).rejects.toThrow('needs burst, timeLimitMs');
  await plans.set('team', { queriesPerS: 5, burst: 10, timeLimitMs: 1_000 });
  await plans.set('team', { burst: 20 });
  expect((await plans.list()).find(({ name }) => name === 'team')).toEqual({
    name: 'team',
    queriesPerS: 5,
    burst: 20,
    timeLimitMs: 1_000,
    firehose: false,
    isDefault: false,
  });
});

it('subscribes the account of an existing sandbox, and no other', async () => {
  const { database } = core;
  const isThere = `SELECT FROM core_migration WHERE name = 'SearchPlans1795651200000'`;
  while ((await database.query<unknown[]>(isThere)).length > 0) await database.undoLastMigration();
  await claimDeployment(database, 'sandbox');
  await core.account('1');
  await database.query(
    `INSERT INTO account (id, name, contact_email) VALUES (2, 'Sandbox', 'sandbox@example.com')`,
  );
  await database.runMigrations();
  expect(await plans.subscriptionOf('1')).toBeNull();
  expect(await plans.subscriptionOf('2')).toMatchObject({ plan: 'firehose', suspendedAt: null });
});
