import type { DataSource } from 'typeorm';
import { createAccount } from './accounts';
import { searchCommands } from './search-plans';
import { seedSandboxCommand } from './seed-sandbox';
import { adminFixture } from './testing/admin-fixture';

const admin = adminFixture();
let database: DataSource;
let accountId: string;

beforeAll(() => {
  database = admin.database;
});
beforeEach(async () => {
  accountId = await createAccount(database, 'Spec', null);
});

/** Runs `npm run admin -- …`. @returns the printed lines */
const run = async (...args: string[]) => await admin.run([searchCommands, seedSandboxCommand], ...args);
const search = async (...args: string[]) => await run('search', ...args);
const listed = async () => (await search('plan', 'list')).map((line) => JSON.parse(line) as object);

describe('search plan', () => {
  it('lists the plans', async () => {
    expect(await listed()).toEqual([
      expect.objectContaining({ name: 'firehose', firehose: true, isDefault: false }),
      {
        name: 'free',
        queriesPerS: 1,
        burst: 10,
        timeLimitMs: 5_000,
        firehose: false,
        isDefault: true,
      },
      expect.objectContaining({ name: 'standard', queriesPerS: 25, timeLimitMs: 20_000, firehose: false }),
    ]);
  });

  it('creates a plan, makes it the default and changes it', async () => {
    const team = ['--queries-per-s', '5', '--burst', '20', '--time-limit-ms', '1500', '--firehose', 'true'];
    const made = {
      name: 'team',
      queriesPerS: 5,
      burst: 20,
      timeLimitMs: 1_500,
      firehose: true,
      isDefault: true,
    };
    const [line = ''] = await search('plan', 'set', 'team', ...team, '--default');
    expect(JSON.parse(line)).toEqual(made);
    await search('plan', 'set', 'team', '--firehose', 'false');
    expect(await listed()).toContainEqual({ ...made, firehose: false });
    await search('plan', 'set', 'free', '--default');
    expect(await listed()).toContainEqual({ ...made, firehose: false, isDefault: false });
  });

  it.each([
    ['nothing', ''],
    ['a rate of nothing', '--queries-per-s 0'],
    ['a rate below nothing', '--queries-per-s -1'],
    ['a rate beyond bounds', '--queries-per-s 100001'],
    ['a part of a query', '--burst 1.5'],
    ['an exponent', '--burst 1e3'],
    ['a time that no query needs', '--time-limit-ms 99'],
    ['a time without end', '--time-limit-ms 600001'],
    ['a unit', '--time-limit-ms 5s'],
    ['neither true nor false', '--firehose yes'],
  ])('set refuses %s, and nothing changes', async (_what, options) => {
    const before = await listed();
    const given = options === '' ? [] : options.split(' ');
    await expect(search('plan', 'set', 'standard', ...given)).rejects.toThrow();
    expect(await listed()).toEqual(before);
  });

  it.each(['', 'Team', 'a b', 'x'.repeat(64), 'a\0', 'ä', "x'; --"])(
    'set refuses the name %j',
    async (name) => {
      const all = ['--queries-per-s', '5', '--burst', '20', '--time-limit-ms', '1500'];
      await expect(search('plan', 'set', name, ...all)).rejects.toThrow(/The name of a plan has/);
    },
  );

  it('set names the missing limits of a new plan, and accepts no names of prototypes', async () => {
    await expect(search('plan', 'set', 'constructor', '--burst', '20')).rejects.toThrow(/no search plan/);
    await expect(search('subscribe', accountId, '__proto__')).rejects.toThrow(/no search plan __proto__/);
  });
});

describe('search subscribe, suspend and resume', () => {
  const standing = (text: string) => [`account ${accountId}: ${text}`];
  const suspended = [expect.stringMatching(/: plan \w+, suspended since \d{4}-\d\d-\d\dT[\d:]{8}Z$/)];

  it('follow an account from the default plan over a suspension', async () => {
    expect(await search('show', accountId)).toEqual(standing('no subscription, the default plan'));
    expect(await search('subscribe', accountId, 'standard')).toEqual(standing('plan standard'));
    const first = await search('suspend', accountId);
    expect(first).toEqual(suspended);
    await database.query(`UPDATE search_subscription SET suspended_at = suspended_at - interval '1 day'`);
    const since = await search('show', accountId);
    // Neither a second suspension nor another plan changes since when nothing was paid.
    expect(await search('suspend', accountId)).toEqual(since);
    expect(await search('subscribe', accountId, 'firehose')).toEqual([
      since[0]?.replace('standard', 'firehose'),
    ]);
    expect(await search('resume', accountId)).toEqual(standing('plan firehose'));
    expect(await search('resume', accountId)).toEqual(standing('plan firehose'));
  });

  it.each(['suspend', 'resume'])('%s needs a subscription', async (verb) => {
    await expect(search(verb, accountId)).rejects.toThrow(/has no subscription/);
  });

  it.each(['7', '__proto__', "1'; --", ''])('know no account %j', async (account) => {
    await expect(search('subscribe', account, 'free')).rejects.toThrow(/no account|not an account id/i);
    await expect(search('suspend', account)).rejects.toThrow(/no account|not an account id/i);
  });

  it('do not change other accounts', async () => {
    const other = await createAccount(database, 'Other', null);
    await search('subscribe', other, 'standard');
    await search('subscribe', accountId, 'free');
    await search('suspend', accountId);
    expect(await search('show', other)).toEqual([`account ${other}: plan standard`]);
  });
});

it('seed-sandbox lets the account read the firehose', async () => {
  const [seeded = ''] = await run('seed-sandbox', '--json');
  const { account_id } = JSON.parse(seeded) as { readonly account_id: string };
  expect(await search('show', account_id)).toEqual([`account ${account_id}: plan firehose`]);
});
