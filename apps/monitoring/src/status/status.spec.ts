import { createHash } from 'node:crypto';
import { logReports } from '@certwright/ct-schema';
import { eventually } from '@certwright/testing';
import { permission, RunningApi, type Tenant } from '../testing/running-api';
import { CtDatabase } from '../ct-database/ct-database.module';
import { addFinding } from '../testing/findings';
import { Following } from './following';
import { Watchdog } from './watchdog';

const root = '/api/v3/monitoring';

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.startWithIndex({ LOG_LEVEL: 'info' });
});
beforeEach(async () => {
  tenant = await api.tenant(permission);
  await api.database.query(`DELETE FROM monitoring_follower`);
  await api.database.query(`DELETE FROM ct_log`);
  await api.database.query(`UPDATE monitoring_task SET leased_until = NULL`);
});
afterAll(() => api.stop());

/** @param lagS since what was in the index was matched, seconds */
const follow = async (lagS: number) => {
  await api.database.query(
    `INSERT INTO monitoring_follower (position, followed_to, moved_at, change_transaction_id, change_id)
     VALUES (1, now() - $1 * interval '1 second', now(), 0, 0)
     ON CONFLICT (only_row) DO UPDATE SET followed_to = excluded.followed_to, moved_at = excluded.moved_at`,
    [lagS],
  );
  await api.database.query(
    `UPDATE monitoring_task SET leased_until = now() + interval '1 minute' WHERE task = 'following'`,
  );
};

const addLog = async (description: string, lagS: number, stopped: boolean) =>
  await api.database.query(
    `INSERT INTO ct_log (description, operator, kind, url, key_der, mmd_s, list_state, enabled, log_id, head_at, entry_at,
       stopped_at, stopped_reason)
     VALUES ($1, $1, 'static', 'https://' || $1, '\\x00', 60, 'usable', true, $2, now() - $3 * interval '1 second',
       now() - $3 * interval '1 second', CASE WHEN $4 THEN now() END, CASE WHEN $4 THEN 'spec' END)`,
    [description, createHash('sha256').update(description).digest(), lagS, stopped],
  );

const backfill = async (changeId: number, name: string, state: string) =>
  await api.database.query(
    `INSERT INTO monitoring_backfill (change_id, account_id, name, until_position, state, found, unknown, finished_at)
     VALUES ($1, $2, $3, 9, $4, 5, 2, CASE WHEN $4 = 'done' THEN now() END)`,
    [changeId, tenant.accountId, name, state],
  );

describe('GET status', () => {
  it('shows that nothing is watched before the worker has started', async () => {
    expect((await tenant.get(`${root}/status`)).json).toEqual({
      watching: false,
      followed_to: null,
      lag_seconds: null,
      logs: expect.any(Array),
      backfills: [],
      endpoints: {
        states: { not_checked: 0, ok: 0, suspect: 0, failing: 0, unreachable: 0, gone: 0 },
        ...{ late_seconds: 0, held_since: null },
      },
      limits: { monitored_domains: 1_000, endpoints: 1_000, findings_per_day: 10_000 },
      usage: { monitored_domains: 0, endpoints: 0, findings_per_day: 0, throttled: 0 },
    });
  });

  it('shows the endpoints of the account by state, how late their checks are, and that reports are held back', async () => {
    const other = await api.tenant(permission);
    const add = async (accountId: string, name: string, state: string, special = '') =>
      await api.database.query(
        `INSERT INTO monitored_endpoint (account_id, dns_name, state, check_due_at, held_since)
         VALUES ($1, $2, $3, ${special === '' ? `now() + interval '1 hour', NULL` : special})`,
        [accountId, name, state],
      );
    await add(tenant.accountId, 'a.example.com', 'ok');
    await add(tenant.accountId, 'b.example.com', 'failing');
    const late = `now() - interval '1 day', '2026-11-20T12:00:00Z'`;
    await add(other.accountId, 'a.example.com', 'failing', late);
    const states = { not_checked: 0, ok: 1, suspect: 0, failing: 1, unreachable: 0, gone: 0 };
    const before = (await tenant.get(`${root}/status`)).json;
    expect(before.endpoints).toEqual({ states, late_seconds: 0, held_since: null });
    expect(before.usage.endpoints).toBe(2);
    await add(tenant.accountId, 'c.example.com', 'failing', late);
    const { late_seconds: lateS, ...after } = (await tenant.get(`${root}/status`)).json.endpoints;
    expect(after).toEqual({ states: { ...states, failing: 2 }, held_since: '2026-11-20T12:00:00Z' });
    expect(lateS).toBeGreaterThanOrEqual(86_399);
  });

  it('shows the follower, logs, backfills, limits and usage', async () => {
    await follow(90);
    await tenant.post(`${root}/monitored_domains/example.com`, {});
    await backfill(11, 'example.com', 'running');
    await backfill(12, '.example.net', 'done');
    await api.database.query(
      `INSERT INTO monitoring_account (account_id, found_on, found, throttled)
       VALUES ($1, (now() AT TIME ZONE 'UTC')::date, 7, 3)`,
      [tenant.accountId],
    );
    const { json } = await tenant.get(`${root}/status`);
    expect(json).toMatchObject({
      watching: true,
      backfills: [{ monitored_domain: 'example.com', state: 'running', found: 5, unknown: 2 }],
      usage: { monitored_domains: 1, endpoints: 1, findings_per_day: 7, throttled: 3 },
    });
    expect(json.lag_seconds).toBeGreaterThanOrEqual(90);
    await api.database.query(`UPDATE monitoring_account SET found_on = found_on - 1 WHERE account_id = $1`, [
      tenant.accountId,
    ]);
    expect((await tenant.get(`${root}/status`)).json.usage).toMatchObject({
      findings_per_day: 0,
      throttled: 0,
    });
  });

  it('names logs that are not read up to their end', async () => {
    await addLog('lagging', 4_000, false);
    await addLog('stopped', 10, true);
    await addLog('fine', 10, false);
    // Reports of logs are kept for a second.
    await eventually(async () =>
      expect((await tenant.get(`${root}/status`)).json.logs).toEqual(
        ['lagging', 'stopped'].map((name) => ({
          ...{ description: name, operator: name, url: `https://${name}`, state: name },
          read_to: expect.any(String),
        })),
      ),
    );
  });
});

describe('expand=status of monitored domains', () => {
  it('shows what was found since the domain was last enabled', async () => {
    const domains = `${root}/monitored_domains`;
    const none = { followed_since: null, backfill: null, certificates: 0, unknown: 0, throttled: false };
    await tenant.post(`${domains}/.example.com`, {});
    await tenant.post(`${domains}/.example.net`, { enabled: false });
    expect((await tenant.get(`${domains}?expand=status`)).json).toMatchObject([
      { name: '.example.com', enabled: true, status: none },
      { name: '.example.net', enabled: false, status: none },
    ]);
    await backfill(21, '.example.com', 'done');
    for (const special of [{}, { state: 'known', reason: 'order_key' }, { source: 'test', position: null }])
      await addFinding(api.database, tenant.accountId, undefined, special);
    const status = {
      ...{ followed_since: expect.any(String), backfill: { state: 'done', found: 5, unknown: 2 } },
      ...{ certificates: 2, unknown: 1, throttled: false },
    };
    const one = (await tenant.get(`${domains}/.example.com?expand=status`)).json;
    expect(one).toMatchObject({ name: '.example.com', enabled: true, status });
    expect((await tenant.get(`${domains}?expand=status`)).json[0]).toEqual(one);
    await tenant.post(`${domains}/.example.com`, { enabled: false });
    await tenant.post(`${domains}/.example.com`, { enabled: true });
    expect((await tenant.get(`${domains}/.example.com?expand=status`)).json.status).toMatchObject({
      ...{ followed_since: null, backfill: null, certificates: 2 },
    });
    expect((await tenant.get(`${domains}/.example.org?expand=status`)).status).toBe(404);
  });
});

describe('while the ct database is down', () => {
  it('every call works', async () => {
    const other = await RunningApi.start({ CT_DATABASE_URL: 'postgres://127.0.0.1:1/none' });
    const member = await other.tenant(permission);
    await member.post(`${root}/monitored_domains/example.com`, {});
    const digest = await addFinding(other.database, member.accountId);
    expect((await member.get(`${root}/status`)).json.logs).toBeNull();
    const { status } = (await member.get(`${root}/monitored_domains/example.com?expand=status`)).json;
    expect(status).toMatchObject({ complete: null, holds_since: null });
    expect((await member.get(`${root}/certificates`)).status).toBe(200);
    expect((await member.get(`${root}/certificates/${digest}`)).status).toBe(200);
    await other.stop();
  });
});

describe('the watchdog', () => {
  const noticesOf = async (accountId: string) => {
    const events = await api.database.query<{ event: string; body: string }>(
      `SELECT event, body FROM webhook_delivery WHERE account_id = $1 ORDER BY created_at, event`,
      [accountId],
    );
    const mails = await api.database.query<{ kind: string }>(
      `SELECT kind FROM mail WHERE account_id = $1 ORDER BY id`,
      [accountId],
    );
    return [...events.map(({ event }) => event), ...mails.map(({ kind }) => kind)];
  };
  const withWebhook = async () => {
    const member = await api.tenant(permission);
    await api.database.query(`UPDATE account SET contact_email = 'ops@example.com' WHERE id = $1`, [
      member.accountId,
    ]);
    await api.database.query(
      `INSERT INTO webhook_endpoint (id, account_id, url, secret_sealed, description, enabled, events)
       VALUES ($1, $1, 'https://example.com/', '{}', '', true, '{monitoring.*}')`,
      [member.accountId],
    );
    return member;
  };
  const round = async () => await api.app.get(Watchdog, { strict: false }).round();
  const alarms = () => api.logged.filter((line) => /ALARM|has caught up/.test(line)).length;

  it('alarms after 15 minutes, notifies accounts once after an hour, and once when it is over', async () => {
    const [watching, silent, disabled, without] = [
      await withWebhook(),
      await withWebhook(),
      await withWebhook(),
      await withWebhook(),
    ];
    for (const each of [watching, silent]) await each.post(`${root}/monitored_domains/example.com`, {});
    await silent.post(`${root}/settings`, { mail: { certificates: 'off' } });
    await disabled.post(`${root}/monitored_domains/example.com`, { enabled: false });
    const before = alarms();
    await follow(850);
    await round();
    expect(alarms()).toBe(before);
    await follow(950);
    await round();
    await round();
    expect(alarms()).toBe(before + 1);
    expect(await noticesOf(watching.accountId)).toEqual([]);

    await follow(3_700);
    await Promise.all([round(), round()]);
    await round();
    const behind = ['monitoring.behind'];
    expect(await noticesOf(watching.accountId)).toEqual([...behind, 'monitoring-behind']);
    expect(await noticesOf(silent.accountId)).toEqual(behind);
    expect(await noticesOf(disabled.accountId)).toEqual([]);
    expect(await noticesOf(without.accountId)).toEqual([]);

    await follow(1_000);
    await round();
    expect(await noticesOf(silent.accountId)).toEqual(behind);
    await follow(10);
    await round();
    await round();
    expect(alarms()).toBe(before + 2);
    const over = [...behind, 'monitoring.caught_up'];
    expect(await noticesOf(watching.accountId)).toEqual([
      ...over,
      'monitoring-behind',
      'monitoring-caught-up',
    ]);
    expect(await noticesOf(silent.accountId)).toEqual(over);
    expect(await noticesOf(without.accountId)).toEqual([]);
  });

  it('notifies no account because the clock of its process is hours ahead', async () => {
    const member = await withWebhook();
    await member.post(`${root}/monitored_domains/example.com`, {});
    await follow(10);
    await addLog('current.example', 0, false);
    const reports = await api.app.get(CtDatabase, { strict: false }).read(logReports);
    const logs = jest.spyOn(api.app.get(Following, { strict: false }), 'logs').mockResolvedValue(reports);
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 5 * 3_600_000);
    await round();
    clock.mockRestore();
    logs.mockRestore();
    expect(reports).toHaveLength(1);
    expect(await noticesOf(member.accountId)).toEqual([]);
  });

  it('does not notify that it is over while the ct database is down', async () => {
    const member = await withWebhook();
    await member.post(`${root}/monitored_domains/example.com`, {});
    const logs = jest.spyOn(api.app.get(Following, { strict: false }), 'logs').mockResolvedValue(null);
    await follow(3_700);
    await round();
    const behind = ['monitoring.behind', 'monitoring-behind'];
    expect(await noticesOf(member.accountId)).toEqual(behind);
    const before = alarms();
    await follow(10);
    await round();
    expect(await noticesOf(member.accountId)).toEqual(behind);
    expect(alarms()).toBe(before);
    logs.mockResolvedValue([]);
    await round();
    expect(await noticesOf(member.accountId)).toHaveLength(4);
    logs.mockRestore();
  });
});
