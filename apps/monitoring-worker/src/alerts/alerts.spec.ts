import { randomBytes } from 'node:crypto';
import { Transactions } from '@certwright/core-schema';
import { FailingDatabase } from '@certwright/core-testing';
import { Mails } from '@certwright/delivery';
import { FindingsFixture, issuanceFor, SpecCa } from '../testing/findings-fixture';
import { Heartbeats } from '../mails/heartbeats';
import { SendMails } from '../mails/send-mails';
import type { LeasedRounds, LeasedWork } from '../tasks/leased-rounds';
import { type Compared, changeOf } from './change-of';

let fixture: FindingsFixture;
beforeAll(async () => {
  fixture = await FindingsFixture.open();
});
afterAll(async () => await fixture.close());

const domains = ['.example.com'];

const send = async () => await fixture.alerts.send(await fixture.lease('alerts'));
const sendMails = async () => await fixture.mails.send(await fixture.lease('mail'));

async function bodies(account: string): Promise<readonly Record<string, unknown>[]> {
  const deliveries = await fixture.deliveries(account);
  return deliveries.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
}

it('sends one delivery per finding with the certificate and its issuer', async () => {
  const account = await fixture.account();
  const ca = new SpecCa('Spec <CA> \u202e "quoted"');
  await fixture.ct.query(
    `INSERT INTO ct_issuer_profile (spki_sha256, website, caa_domains, problem_reporting, as_of, source)
     VALUES ($1, 'https://ca.example/', '{ca.example}', 'mail@ca.example', now(), 'spec')`,
    [ca.spkiSha256],
  );
  fixture.caa = async () =>
    await Promise.resolve({ verdict: 'forbids', at: 'example.com', records: [], failure: null });
  const issuance = ca.issue(['a.example.com', 'elsewhere.example.net']);
  await fixture.find({ [account]: domains }, [issuance]);
  expect(await send()).toBe(1);
  expect(await send()).toBe(0);
  const [body, ...others] = await bodies(account);
  expect(others).toEqual([]);
  const position: unknown = expect.stringMatching(/^\d+$/);
  expect(body).toEqual({
    id: position,
    html_url: expect.stringMatching(/^https:\/\/search\.example\.net\/v1\/issuances\/\d+$/),
    endpoints: [{ dns_name: 'a.example.com', monitored_domain: '.example.com', wildcard: false }],
    issuance: {
      id: position,
      tbs_sha256: issuance.tbsSha256,
      cert_sha256: issuance.certSha256,
      pubkey_sha256: issuance.spkiSha256,
      not_before: expect.any(String),
      not_after: expect.any(String),
      revoked: null,
      dns_names: ['a.example.com', 'elsewhere.example.net'],
      issuer: {
        friendly_name: 'Spec <CA> \u202e "quoted"',
        website: 'https://ca.example/',
        caa_domains: ['ca.example'],
        pubkey_sha256: ca.spkiSha256.toString('hex'),
        name: expect.any(String),
      },
      problem_reporting: 'mail@ca.example',
      cert_der: issuance.body.subarray(1).toString('base64'),
    },
    change: 'first',
    caa: 'forbids',
    reason: 'unknown',
  });
  expect(await fixture.findings(account)).toMatchObject([
    { alertIsDue: false, mailDue: true, alert: { change: 'first', caa: 'forbids' } },
  ]);
});

it('compares with the newest finding before that shares a monitored name', async () => {
  const account = await fixture.account();
  const [ca, other] = [new SpecCa('One'), new SpecCa('Two')];
  await fixture.find({ [account]: domains }, [ca.issue(['a.example.com'])]);
  await fixture.find({ [account]: domains }, [
    ca.issue(['a.example.com']),
    other.issue(['a.example.com', 'b.example.com']),
    other.issue(['c.example.com']),
  ]);
  await send();
  const found = await fixture.findings(account);
  expect(found.map(({ alert }) => alert?.change)).toEqual([
    'first',
    'renewal',
    ['new_names', 'new_issuer', 'new_key'],
    'first',
  ]);
});

it('reports entries that cannot be read, and tests', async () => {
  const account = await fixture.account();
  const tbsSha256 = randomBytes(32);
  const names = [
    { dnsName: 'a.example.com', monitoredDomain: '.example.com', isWildcard: false, isOddName: true },
  ];
  const accounts = [{ account, names, isComplete: true }];
  const entry = {
    position: null,
    spkiSha256: null,
    issuer: null,
    notBefore: null,
    notAfter: new Date(),
    dnsNames: [],
  };
  await fixture.recordAll([{ ...entry, tbsSha256, accounts }]);
  await fixture.core.query(
    `INSERT INTO monitoring_finding (account_id, tbs_sha256, not_after, dns_names_sha256, endpoints, endpoint_count,
       dns_names, monitored_domains, source, state, reason, alert_due_at)
     SELECT account_id, sha256(tbs_sha256), not_after, dns_names_sha256, endpoints, endpoint_count, dns_names,
       monitored_domains, 'test', state, reason, now() FROM monitoring_finding WHERE account_id = $1`,
    [account],
  );
  await send();
  const found = await bodies(account);
  expect(found.find(({ test }) => test === undefined)).toEqual({
    id: null,
    html_url: null,
    endpoints: [
      { dns_name: 'a.example.com', monitored_domain: '.example.com', wildcard: false, odd_name: true },
    ],
    issuance: null,
    tbs_sha256: tbsSha256.toString('hex'),
    change: 'first',
    caa: 'unknown',
    reason: 'unknown',
  });
  expect(found.filter(({ test }) => test === true)).toHaveLength(1);
});

it('leaves out the certificate when the body would be too long, then most names', async () => {
  const account = await fixture.account();
  const long = issuanceFor(['a.example.com'], { body: Buffer.concat([Buffer.of(0), randomBytes(500_000)]) });
  const names = Array.from({ length: 60_000 }, (_, nth) => `n${nth}.elsewhere.net`);
  const manyNames = issuanceFor(['b.example.com', ...names]);
  await fixture.find({ [account]: domains }, [long, manyNames]);
  await send();
  const deliveries = await fixture.deliveries(account);
  expect(deliveries).toHaveLength(2);
  for (const { body } of deliveries) {
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(512 * 1024);
    const { truncated, issuance } = JSON.parse(body) as {
      truncated: boolean;
      issuance: Record<string, unknown>;
    };
    expect(truncated).toBe(true);
    expect(issuance).not.toHaveProperty('cert_der');
    expect(issuance).toHaveProperty('dns_names');
  }
});

it('sends nothing to disabled accounts or for disabled domains, and nothing of what became known in between', async () => {
  const [disabled, account, paused, deleted] = [
    await fixture.account(),
    await fixture.account(),
    await fixture.account(),
    await fixture.account(),
  ];
  await fixture.core.query(`UPDATE account SET disabled_at = now() WHERE id = $1`, [disabled]);
  await fixture.find({ [disabled]: domains, [account]: domains, [paused]: domains, [deleted]: domains }, [
    issuanceFor(['a.example.com']),
  ]);
  await fixture.core.query(
    `UPDATE monitoring_finding SET state = 'acknowledged', acknowledged_at = now() WHERE account_id = $1`,
    [account],
  );
  await fixture.core.query(`UPDATE monitored_domain SET enabled = false WHERE account_id = $1`, [paused]);
  await fixture.core.query(`DELETE FROM monitored_domain WHERE account_id = $1`, [deleted]);
  await send();
  for (const each of [disabled, account, paused, deleted]) {
    expect(await fixture.deliveries(each)).toEqual([]);
    expect(await fixture.findings(each)).toMatchObject([{ alertIsDue: false, mailDue: false }]);
  }
});

it('does not let an account wait for another one with many', async () => {
  const [busy, quiet] = [await fixture.account(), await fixture.account()];
  await fixture.find(
    { [busy]: domains },
    Array.from({ length: 300 }, () => issuanceFor(['a.example.com'])),
  );
  await fixture.find({ [quiet]: domains }, [issuanceFor(['b.example.com'])]);
  await fixture.alerts.send(await fixture.lease('alerts'));
  expect(await fixture.findings(quiet)).toMatchObject([{ alertIsDue: false }]);
  expect((await fixture.findings(busy)).filter(({ alertIsDue }) => alertIsDue).length).toBeGreaterThan(0);
  await send();
  expect((await fixture.findings(busy)).some(({ alertIsDue }) => alertIsDue)).toBe(false);
});

it('sends nothing after another process took the task', async () => {
  const account = await fixture.account();
  await fixture.find({ [account]: domains }, [issuanceFor(['a.example.com'])]);
  const lost = await fixture.lease('alerts');
  await fixture.lease('alerts');
  await expect(fixture.alerts.send(lost)).rejects.toThrow('monitoring_task');
  expect(await fixture.deliveries(account)).toEqual([]);
  await send();
});

describe('mails', () => {
  const many = (count: number) => Array.from({ length: count }, () => issuanceFor(['a.example.com']));
  const mails = async (account: string) =>
    (await fixture.sentMails(account)).map(({ facts }) => {
      const { tbsSha256, occasion } = facts as { tbsSha256: readonly string[]; occasion: string };
      return [occasion, tbsSha256.length];
    });
  const later = async (account: string, minutes: number) =>
    await fixture.core.query(
      `UPDATE monitoring_account SET mailed_at = mailed_at - $2 * interval '1 minute',
         mail_due_at = mail_due_at - $2 * interval '1 minute' WHERE account_id = $1`,
      [account, minutes],
    );

  it('are sent at once, then gathered, each certificate once, 50 per mail', async () => {
    const account = await fixture.account();
    await fixture.find({ [account]: domains }, many(1));
    await send();
    await sendMails();
    await fixture.find({ [account]: domains }, many(60));
    await send();
    await sendMails();
    expect(await mails(account)).toEqual([['at-once', 1]]);
    await later(account, 15);
    await sendMails();
    await sendMails();
    await later(account, 15);
    await sendMails();
    await sendMails();
    expect(await mails(account)).toEqual([
      ['at-once', 1],
      ['gathered', 50],
      ['gathered', 10],
    ]);
  });

  it('are a digest, or none', async () => {
    const [digest, off] = [await fixture.account(), await fixture.account()];
    await fixture.settings(digest, { certificate_mail: 'digest' });
    await fixture.settings(off, { certificate_mail: 'off' });
    await fixture.find({ [digest]: domains, [off]: domains }, many(2));
    await send();
    await sendMails();
    expect(await mails(digest)).toEqual([]);
    await later(digest, 24 * 60);
    await sendMails();
    expect(await mails(digest)).toEqual([['digest', 2]]);
    expect(await mails(off)).toEqual([]);
    expect((await fixture.findings(off)).some(({ mailDue }) => mailDue)).toBe(false);
  });

  it('about certificates are sent while the ct database is unavailable, which the weekly ones need', async () => {
    const account = await fixture.account();
    await fixture.find({ [account]: domains }, many(1));
    await send();
    let round: LeasedWork = async () => await Promise.resolve(0);
    const rounds: Pick<LeasedRounds, 'add'> = { add: (_, work) => void (round = work) };
    const unavailable = async () => await Promise.reject(new Error('unavailable'));
    new SendMails(rounds as LeasedRounds, fixture.asWorker, fixture.mails['gathered'], {
      send: unavailable,
    } as unknown as Heartbeats).onModuleInit();
    const lease = await fixture.lease('mail');
    await expect(round(lease)).rejects.toThrow('unavailable');
    await round(lease);
    expect(await mails(account)).toEqual([['at-once', 1]]);
  });

  it('say weekly that monitoring works', async () => {
    await fixture.core.query(`DELETE FROM monitored_domain`);
    const [account, off] = [await fixture.account(), await fixture.account()];
    await fixture.settings(off, { heartbeat: 'off' });
    for (const each of [account, off])
      await fixture.core.query(
        `INSERT INTO monitored_domain (account_id, name, enabled) VALUES ($1, 'example.com', true)`,
        [each],
      );
    await fixture.core.query(
      `INSERT INTO monitoring_follower (position, followed_to, moved_at, change_transaction_id, change_id)
       VALUES (1, now(), now(), 0, 0)`,
    );
    await fixture.ct.query(
      `INSERT INTO ct_log (log_id, description, operator, kind, url, key_der, mmd_s, list_state, enabled, head_at)
       VALUES (sha256(''), 'Log', 'Operator', 'static', 'https://log.example/', '', 60, 'usable', true, now())`,
    );
    // A log does not lag because the clock of this process is ahead.
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 5 * 3_600_000);
    const beat = async () => await fixture.heartbeats.send(await fixture.lease('mail'));
    expect(await beat()).toBe(0);
    await fixture.core.query(`UPDATE monitoring_account SET heartbeat_at = heartbeat_at - interval '7 days'`);
    expect(await beat()).toBe(1);
    expect(await beat()).toBe(0);
    clock.mockRestore();
    expect(await fixture.sentMails(account)).toMatchObject([
      { kind: 'monitoring-heartbeat', facts: { laggingLogs: [] } },
    ]);
    expect(await fixture.sentMails(off)).toEqual([]);
  });

  it.each(['before', 'after'] as const)(
    'say it once a week when the connection breaks %s a statement or COMMIT',
    async (when) => {
      await fixture.core.query(
        `INSERT INTO monitoring_follower (position, followed_to, moved_at, change_transaction_id, change_id)
         VALUES (1, now(), now(), 0, 0) ON CONFLICT DO NOTHING`,
      );
      let nth = 1;
      for (let isBroken = true; isBroken; nth += 1) {
        await fixture.core.query(`DELETE FROM monitored_domain`);
        const [due, begins] = [await fixture.account(), await fixture.account()];
        await fixture.core.query(
          `INSERT INTO monitored_domain (account_id, name, enabled) SELECT unnest($1::bigint[]), 'example.com', true`,
          [[due, begins]],
        );
        await fixture.core.query(
          `INSERT INTO monitoring_account (account_id, heartbeat_at) VALUES ($1, now() - interval '7 days')`,
          [due],
        );
        const failing = new FailingDatabase(fixture.asWorker, nth, when);
        const [transactions, mails] = [new Transactions(failing.source), new Mails(failing.source)];
        const lease = await fixture.lease('mail');
        await new Heartbeats(fixture.ctAsWorker, transactions, mails).send(lease).catch((error: unknown) => {
          if (!failing.struck) throw error;
        });
        isBroken = failing.struck;
        await fixture.heartbeats.send(await fixture.lease('mail'));
        const counts = [due, begins].map(async (each) => (await fixture.sentMails(each)).length);
        expect({ nth, mails: await Promise.all(counts) }).toEqual({ nth, mails: [1, 0] });
        const begun = `SELECT 1 FROM monitoring_account WHERE account_id = $1 AND heartbeat_at IS NOT NULL`;
        expect(await fixture.core.query(begun, [begins])).toHaveLength(1);
      }
      expect(nth).toBeGreaterThan(5);
    },
  );
});

describe('housekeeping', () => {
  const keep = async () => {
    const lease = await fixture.lease('housekeeping');
    await fixture.housekeeping.expiredFindings(lease);
    await fixture.housekeeping.oldBackfills(lease);
    while (!(await fixture.housekeeping.unmonitoredFindings(lease)));
  };
  const names = async (account: string) =>
    (await fixture.findings(account)).flatMap(({ dnsNames }) => dnsNames);

  it('deletes old reports and holds about endpoints, and endpoints that are gone 30 days after their last certificate', async () => {
    const account = await fixture.account();
    await fixture.core.query(
      `INSERT INTO monitored_endpoint (account_id, dns_name, state, last_not_after)
       SELECT $1, name, state, now() - days * interval '1 day'
       FROM (VALUES ('old.example.net', 'gone', 31), ('stopped.example.net', 'not_checked', 31), ('recent.example.net', 'gone', 29),
         ('served.example.net', 'ok', 31), ('named.example.net', 'gone', 31)) AS given (name, state, days)`,
      [account],
    );
    await fixture.core.query(
      `INSERT INTO monitored_domain (account_id, name, enabled) VALUES ($1, 'named.example.net', false)`,
      [account],
    );
    await fixture.core.query(
      `INSERT INTO endpoint_report (account_id, dns_name, kind, findings, mail_due, reported_at)
       SELECT $1, days || '.example.net', 'problem', '[]', false, now() - days * interval '1 day' FROM unnest('{29,31}'::int[]) AS days`,
      [account],
    );
    await fixture.core.query(
      `INSERT INTO endpoint_hold (counted_from, ended_at) SELECT now(), now() - days * interval '1 day' FROM unnest('{29,31}'::int[]) AS days`,
    );
    await fixture.housekeeping.endpoints(await fixture.lease('housekeeping'));
    const left = async (table: string) =>
      (
        await fixture.core.query<{ dns_name: string }[]>(
          `SELECT dns_name FROM ${table} WHERE account_id = $1 ORDER BY dns_name`,
          [account],
        )
      ).map(({ dns_name }) => dns_name);
    expect(await left('monitored_endpoint')).toEqual([
      'named.example.net',
      'recent.example.net',
      'served.example.net',
    ]);
    expect(await left('endpoint_report')).toEqual(['29.example.net']);
    expect(await fixture.core.query(`SELECT 1 FROM endpoint_hold`)).toHaveLength(1);
  });

  it('deletes findings 30 days after expiry, and 30 days after the last of their domains was deleted', async () => {
    const account = await fixture.account();
    const expired = new Date(Date.now() - 31 * 86_400_000);
    const issuances = ['a', 'b', 'c'].map((name) => issuanceFor([`${name}.example.com`]));
    await fixture.find({ [account]: ['a.example.com', 'b.example.com', 'c.example.com'] }, [
      ...issuances,
      issuanceFor(['a.example.com', 'b.example.com'], { notAfter: expired }),
    ]);
    await fixture.core.query(`UPDATE monitoring_finding SET found_at = $2 WHERE account_id = $1`, [
      account,
      expired,
    ]);
    await fixture.core.query(
      `DELETE FROM monitored_domain WHERE account_id = $1 AND name <> 'a.example.com'`,
      [account],
    );
    await fixture.core.query(
      `INSERT INTO monitoring_change (transaction_id, account_id, object, name, action, before)
       VALUES (0, $1, 'monitored_domain', 'b.example.com', 'deleted', '{}')`,
      [account],
    );
    await keep();
    expect(await names(account)).toEqual(['a.example.com', 'b.example.com']);
    await fixture.core.query(`UPDATE monitoring_change SET changed_at = $2 WHERE account_id = $1`, [
      account,
      expired,
    ]);
    await keep();
    expect(await names(account)).toEqual(['a.example.com']);
    const left = await fixture.core.query<{ dns_name: string }[]>(
      `SELECT dns_name FROM monitored_name WHERE account_id = $1`,
      [account],
    );
    expect(left.map(({ dns_name }) => dns_name)).toEqual([]);
  });

  it('deletes backfills of deleted domains', async () => {
    const account = await fixture.account();
    await fixture.core.query(
      `INSERT INTO monitoring_backfill (change_id, account_id, name, until_position, state, finished_at)
       SELECT nth, $1, CASE nth WHEN 3 THEN 'gone.example.com' ELSE 'a.example.com' END, 1, 'done', now() - interval '31 days'
       FROM generate_series(1, 3) AS nth`,
      [account],
    );
    await fixture.core.query(
      `INSERT INTO monitored_domain (account_id, name, enabled) VALUES ($1, 'a.example.com', true)`,
      [account],
    );
    await keep();
    const left = await fixture.core.query<{ id: string }[]>(
      `SELECT change_id AS id FROM monitoring_backfill WHERE account_id = $1`,
      [account],
    );
    expect(left).toEqual([{ id: '2' }]);
  });
});

const finding: Compared = {
  dnsNamesSha256: Buffer.alloc(32, 1),
  spkiSha256: Buffer.alloc(32, 2),
  issuerSpkiSha256: Buffer.alloc(32, 3),
  issuerOperator: 'One',
};
const other = Buffer.alloc(32, 9);

it.each<[string, Partial<Compared> | null, unknown]>([
  ['nothing before', null, 'first'],
  ['the same', {}, 'renewal'],
  ['a renewal with a new key', { spkiSha256: other }, 'renewal'],
  ['another key of the same operator', { issuerSpkiSha256: other }, 'renewal'],
  ['an unknown operator', { issuerSpkiSha256: other, issuerOperator: null }, ['new_issuer']],
  ['another operator', { issuerSpkiSha256: other, issuerOperator: 'Two' }, ['new_issuer']],
  ['other names', { dnsNamesSha256: other }, ['new_names']],
  ['other names and another key', { dnsNamesSha256: other, spkiSha256: other }, ['new_names', 'new_key']],
])('tells what changed: %s', (_what, previous, change) => {
  expect(changeOf(finding, previous === null ? null : { ...finding, ...previous })).toEqual(change);
});

it('does not take two unknown keys of issuers for the same one', () => {
  const unknown = { ...finding, issuerSpkiSha256: Buffer.alloc(32), issuerOperator: null };
  expect(changeOf(unknown, unknown)).toEqual(['new_issuer']);
});
