import { coreDataSource, Transactions } from '@certwright/core-schema';
import type { DataSource } from 'typeorm';
import { eventually } from '@certwright/testing';
import { permission, RunningApi } from '../testing/running-api';
import { recordChange } from './monitoring-changes';

const domains = '/api/v3/monitoring/monitored_domains';

let api: RunningApi;
let database: DataSource;

beforeAll(async () => {
  api = await RunningApi.start();
  const settings = { applicationName: 'spec', poolSize: 5, statementTimeoutMs: 30_000 };
  database = await coreDataSource({ url: api.database.url, ...settings }).initialize();
});
afterAll(async () => {
  await database.destroy();
  await api.stop();
});

it('names the API key of each change', async () => {
  const tenant = await api.tenant(permission);
  await tenant.post(`${domains}/example.com`, {});
  const [change] = await database.query(
    `SELECT api_key_id, api_key.account_id, changed_at <= now() AS past
     FROM monitoring_change JOIN api_key ON api_key.id = api_key_id WHERE monitoring_change.account_id = $1`,
    [tenant.accountId],
  );
  expect(change).toEqual({ api_key_id: expect.any(String), account_id: tenant.accountId, past: true });
});

it('keeps the changes of a deleted object', async () => {
  const tenant = await api.tenant(permission);
  await tenant.post(`${domains}/example.com`, {});
  await tenant.delete(`${domains}/example.com`);
  const [{ count }] = await database.query(
    `SELECT count(*)::int AS count FROM monitoring_change WHERE account_id = $1`,
    [tenant.accountId],
  );
  expect(count).toBe(2);
});

it('is not readable, changeable or deletable for the API', async () => {
  const own = await coreDataSource({
    url: api.database.urlOf('monitoring'),
    applicationName: 'tries what is forbidden',
    poolSize: 1,
    statementTimeoutMs: 30_000,
  }).initialize();
  for (const statement of [
    `SELECT id FROM monitoring_change`,
    `UPDATE monitoring_change SET after = NULL`,
    `DELETE FROM monitoring_change`,
    `UPDATE account SET max_monitored_domains = 5`,
  ])
    await expect(own.query(statement)).rejects.toMatchObject({ code: '42501' });
  await own.destroy();
});

describe('a reader of changes', () => {
  /** As docs/decisions/0016-monitored-domains.md says. @returns what to apply, and where to continue */
  const changesAfter = async (cursor: { transactionId: string; id: string }) => {
    const rows: { transaction_id: string; id: string; name: string; is_final: boolean }[] =
      await database.query(
        `SELECT transaction_id, id, name,
                transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS is_final
         FROM monitoring_change WHERE (transaction_id, id) > ($1, $2) ORDER BY transaction_id, id`,
        [cursor.transactionId, cursor.id],
      );
    const last = rows.filter(({ is_final }) => is_final).at(-1);
    return {
      names: rows.map(({ name }) => name),
      cursor: last === undefined ? cursor : { transactionId: last.transaction_id, id: last.id },
    };
  };

  it('sees each change when it is committed, and misses none that is committed later with a smaller id', async () => {
    const [{ accountId }, { accountId: otherId }] = [
      await api.tenant(permission),
      await api.tenant(permission),
    ];
    const change = (name: string, account: string) => ({
      ...({
        accountId: account,
        apiKeyId: null,
        object: 'monitored_domain',
        name,
        action: 'created',
      } as const),
      ...{ before: null, after: {} },
    });
    let cursor = { transactionId: '0', id: '0' };
    // A transaction of another database on the server may hold the cursor for a while.
    const untilNothingIsLeft = async () =>
      await eventually(async () => {
        const changes = await changesAfter(cursor);
        cursor = changes.cursor;
        expect(changes.names).toEqual([]);
      });
    await untilNothingIsLeft();
    const transactions = new Transactions(database);
    let commit = (): void => undefined;
    const mayCommit = new Promise<void>((resolve) => (commit = resolve));
    let written = (): void => undefined;
    const isWritten = new Promise<void>((resolve) => (written = resolve));
    const slow = transactions.run(async (tx) => {
      await recordChange(tx, change('slow', accountId));
      written();
      await mayCommit;
    });
    await isWritten;
    await transactions.run(async (tx) => await recordChange(tx, change('fast', otherId)));
    expect(await changesAfter(cursor)).toEqual({ names: ['fast'], cursor });
    commit();
    await slow;
    expect((await changesAfter(cursor)).names).toEqual(['slow', 'fast']);
    await untilNothingIsLeft();
  });
});
