import { Transactions } from '@certwright/core-schema';
import type { DataSource } from 'typeorm';
import { recordChange } from '../../apps/monitoring/src/changes/monitoring-changes';
import { createAccount } from './accounts';
import { monitoringCommands } from './monitoring';
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

/** Runs `npm run admin -- monitoring …`. @returns the printed lines */
const run = async (...args: string[]) => await admin.run([monitoringCommands], 'monitoring', ...args);
const limitOf = async (id: string) =>
  (await database.query(`SELECT max_monitored_domains FROM account WHERE id = $1`, [id]))[0]
    .max_monitored_domains;
const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;

it('limit sets the limit of one account, and records a change of it once', async () => {
  const other = await createAccount(database, 'Other', null);
  const printed = [`account ${accountId}: 5000 monitored domains`];
  expect(await run('limit', accountId, '5000')).toEqual(printed);
  expect(await run('limit', accountId, '5000')).toEqual(printed);
  expect([await limitOf(accountId), await limitOf(other)]).toEqual([5_000, 1_000]);
  expect(await run('history', accountId)).toEqual([
    expect.stringMatching(
      new RegExp(
        `^${time}\toperator\tchanged limit\tbefore {"monitored_domains":1000}\tafter {"monitored_domains":5000}$`,
      ),
    ),
  ]);
  expect(await run('history', other)).toEqual([]);
});

it('limit sets every limit that the status of an account shows', async () => {
  expect(await run('limit', accountId, '7', '--of', 'endpoints')).toEqual([
    `account ${accountId}: 7 endpoints`,
  ]);
  expect(await run('limit', accountId, '9', '--of', 'findings_per_day')).toEqual([
    `account ${accountId}: 9 findings per day`,
  ]);
  const [limits] = await database.query(
    `SELECT max_monitored_domains, max_monitored_endpoints, max_findings_per_day FROM account WHERE id = $1`,
    [accountId],
  );
  expect(limits).toEqual({
    max_monitored_domains: 1_000,
    max_monitored_endpoints: 7,
    max_findings_per_day: 9,
  });
  expect((await run('history', accountId)).at(-1)).toContain('after {"findings_per_day":9}');
  await expect(run('limit', accountId, '9', '--of', 'id')).rejects.toThrow();
});

it('status shows how far the index is matched, also before anything was', async () => {
  const before = await run('status');
  expect(before).toContain('position\t-');
  expect(before).toContain('alerts_waiting\t0');
  await database.query(
    `INSERT INTO monitoring_follower (position, tbs_sha256, followed_to, moved_at, change_transaction_id, change_id)
     VALUES (42, NULL, now() - interval '90 s', now(), 0, 0)`,
  );
  const after = await run('status');
  expect(after).toContain('position\t42');
  expect(after.find((line) => line.startsWith('lag_s'))).toMatch(/\t9\d$/);
  expect(after.find((line) => line.startsWith('tasks_without_process'))).toContain('following');
});

it.each(['', 'x', '-1', '1.5', '1000001', '1e3'])('limit refuses %j', async (count) => {
  await expect(run('limit', accountId, count)).rejects.toThrow();
  expect(await limitOf(accountId)).toBe(1_000);
});

it.each(['7', '__proto__', "1'; --", ''])('knows no account %j', async (account) => {
  await expect(run('limit', account, '5')).rejects.toThrow(/no account|not an account id/i);
  await expect(run('history', account)).rejects.toThrow(/no account|not an account id/i);
});

it('history prints every change, oldest first, with the key that made it', async () => {
  const [{ id: apiKeyId }] = await database.query(
    `INSERT INTO api_key (account_id, label, secret_sha256, permissions) VALUES ($1, 'spec', sha256($2), '{}') RETURNING id`,
    [accountId, Buffer.from(accountId)],
  );
  const name = 'example.com';
  const [on, off] = [true, false].map((enabled) => ({ name, enabled }));
  await new Transactions(database).run(async (tx) => {
    const change = { accountId, apiKeyId, object: 'monitored_domain', name } as const;
    await recordChange(tx, { ...change, action: 'created', before: null, after: on ?? null });
    await recordChange(tx, { ...change, action: 'disabled', before: on ?? null, after: off ?? null });
    await recordChange(tx, { ...change, action: 'deleted', before: off ?? null, after: null });
  });
  const lines = await run('history', accountId);
  expect(lines.map((line) => line.replace(new RegExp(`^${time}\t`), ''))).toEqual([
    `key ${apiKeyId}\tcreated monitored_domain example.com\tafter {"name":"example.com","enabled":true}`,
    `key ${apiKeyId}\tdisabled monitored_domain example.com\tbefore {"name":"example.com","enabled":true}\tafter {"name":"example.com","enabled":false}`,
    `key ${apiKeyId}\tdeleted monitored_domain example.com\tbefore {"name":"example.com","enabled":false}`,
  ]);
});

it('history prints more changes than it reads at once', async () => {
  await database.query(
    `INSERT INTO monitoring_change (transaction_id, account_id, object, name, action, after)
     SELECT 1, $1, 'known_cert', at, 'created', '{}' FROM generate_series(1, 2500) AS at`,
    [accountId],
  );
  const lines = await run('history', accountId);
  expect(lines.map((line) => /known_cert (\d+)/.exec(line)?.[1])).toEqual(
    Array.from({ length: 2_500 }, (_, at) => String(at + 1)),
  );
});

it('endpoints shows whether reports are held back, and release ends that once', async () => {
  expect(await run('endpoints')).toEqual(expect.arrayContaining(['held_since\t-', 'reports_held\t0']));
  await database.query(
    `INSERT INTO monitored_endpoint (account_id, dns_name, state, looked_at, bad_since, held_since)
     SELECT $1, 'n' || nth || '.example.com', CASE WHEN nth <= 3 THEN 'failing' ELSE 'ok' END, now(),
       CASE WHEN nth <= 3 THEN now() END, CASE WHEN nth <= 2 THEN now() END FROM generate_series(1, 5) AS nth`,
    [accountId],
  );
  await database.query(`INSERT INTO endpoint_hold (counted_from) VALUES (now() - interval '1 hour')`);
  expect(await run('endpoints')).toEqual(
    expect.arrayContaining([
      'endpoints\t5',
      'failing\t3',
      expect.stringMatching(new RegExp(`^held_since\t${time}$`)),
      'held_of_checked\t5',
      'held_turned_bad\t3',
      'reports_held\t2',
    ]),
  );
  expect(await run('endpoints', 'release')).toEqual(['reports are no longer held back']);
  expect(await run('endpoints', 'release')).toEqual(['no reports are held back']);
  expect(await database.query(`SELECT is_released FROM endpoint_hold WHERE ended_at <= now()`)).toEqual([
    { is_released: true },
  ]);
});
