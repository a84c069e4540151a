import { FailingDatabase } from '@certwright/core-testing';
import { LeaseLost } from '@certwright/postgres';
import { EndpointsFixture, hourMs, minuteMs, type Served } from '../testing/endpoints-fixture';

jest.setTimeout(120_000);

/** Everything but `Date`. */
const notFaked = [
  ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
  ...(['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const),
];

let fixture: EndpointsFixture;
let good: Served;
let wrong: Served;
beforeAll(async () => {
  fixture = await EndpointsFixture.open();
  good = fixture.leaf('*.example.com');
  wrong = fixture.leaf('other.example.net');
});
afterAll(async () => await fixture.close());
beforeEach(async () => {
  await fixture.findings.core.query('DELETE FROM monitored_endpoint');
  await fixture.findings.core.query('DELETE FROM endpoint_hold');
  fixture.questions.length = 0;
  fixture.serve = () => good;
  await fixture.use({});
});

const query = async (statement: string, ...values: unknown[]) =>
  await fixture.findings.core.query(statement, values);

/** Checks until nothing is open, and the time of three checks more. */
const settle = async () => await fixture.pass(45 * minuteMs);

describe('a problem', () => {
  it('is reported once by three checks, and withdrawn once', async () => {
    const account = await fixture.account('www.example.com');
    await settle();
    expect(await fixture.endpoint(account, 'www.example.com')).toMatchObject({ state: 'ok', attempts: 0 });
    fixture.serve = () => wrong;
    await fixture.pass(6.6 * hourMs);
    expect(await fixture.endpoint(account, 'www.example.com')).toMatchObject({ state: 'failing' });
    await fixture.pass(12 * hourMs);
    expect(await fixture.sent(account)).toEqual(['problem www.example.com: wrong_name']);
    fixture.serve = () => good;
    await fixture.pass(12 * hourMs);
    expect(await fixture.sent(account)).toEqual([
      'problem www.example.com: wrong_name',
      'recovered www.example.com: wrong_name',
    ]);
    expect(await fixture.endpoint(account, 'www.example.com')).toMatchObject({
      ...{ state: 'ok', findings: [], bad_since: null, held_since: null },
    });
  });

  it('of a name is reported to each account that monitors it, by one look if both are due', async () => {
    const name = 'shared.example.com';
    const [one, other, later] = [
      await fixture.account(name),
      await fixture.account(),
      await fixture.account(),
    ];
    await fixture.add(other, [name], [8443]);
    await fixture.add(later, [name]);
    await query(
      `UPDATE monitored_endpoint SET check_due_at = now() + interval '1 year' WHERE account_id = $1`,
      later,
    );
    fixture.serve = (_host, port) => (port === 443 ? wrong : good);
    await fixture.step();
    expect(fixture.questions).toEqual([
      { hosts: [{ host: name, ports: [443, 8443] }], serverName: null, withHttpStatus: true },
    ]);
    await settle();
    expect(await fixture.sent(one)).toEqual([`problem ${name}: wrong_name`]);
    expect(await fixture.sent(other)).toEqual([]);
    // It does not learn what others look at, and when.
    const { served, state } = await fixture.endpoint(other, name);
    expect([state, (served as { port: number }[]).map(({ port }) => port)]).toEqual(['ok', [8443]]);
    expect(await fixture.endpoint(later, name)).toMatchObject({ state: 'not_checked', looked_at: null });
  });

  it('is shown while the endpoint is muted, and reported after that if it still exists', async () => {
    const account = await fixture.account('www.example.com', 'api.example.com');
    await query(`UPDATE monitored_endpoint SET muted = true WHERE account_id = $1`, account);
    fixture.serve = () => wrong;
    await settle();
    expect(await fixture.endpoint(account, 'www.example.com')).toMatchObject({ state: 'failing' });
    fixture.serve = (host) => (host === 'www.example.com' ? wrong : good);
    await fixture.pass(12 * hourMs);
    await query(`UPDATE monitored_endpoint SET muted = false WHERE account_id = $1`, account);
    await fixture.pass(12 * hourMs);
    expect(await fixture.sent(account)).toEqual(['problem www.example.com: wrong_name']);
  });

  it('ends without a report when the domain is no longer monitored; disabled accounts are not checked', async () => {
    const [account, disabled] = [
      await fixture.account('www.example.com'),
      await fixture.account('api.example.com'),
    ];
    fixture.serve = () => wrong;
    await settle();
    await query(`UPDATE monitored_domain SET enabled = false WHERE account_id = $1`, account);
    await query(`UPDATE account SET disabled_at = now() WHERE id = $1`, disabled);
    fixture.serve = () => good;
    fixture.questions.length = 0;
    await fixture.pass(24 * hourMs);
    expect(fixture.questions).toEqual([]);
    for (const each of [account, disabled]) expect(await fixture.sent(each)).toHaveLength(1);
    expect(await fixture.endpoint(account, 'www.example.com')).toMatchObject({
      ...{ state: 'not_checked', findings: [], looked_at: null },
    });
    await query(`UPDATE monitored_domain SET enabled = true WHERE account_id = $1`, account);
    fixture.serve = () => wrong;
    await fixture.pass(12 * hourMs);
    expect(await fixture.sent(account)).toHaveLength(2);
  });
});

describe('a process', () => {
  it.each(['before', 'after'] as const)(
    'reports and withdraws a problem once when the connection breaks %s a statement or COMMIT',
    async (when) => {
      let nth = 1;
      for (let isBroken = true; isBroken; nth += 1) {
        await query('DELETE FROM monitored_endpoint');
        const name = `n${nth}.example.com`;
        const account = await fixture.account(name);
        isBroken = false;
        const underFaults = async () => {
          const failing = new FailingDatabase(fixture.findings.asWorker, nth, when);
          await query(`UPDATE monitored_endpoint SET check_due_at = $1`, fixture.now);
          await fixture.use({}, failing.source);
          await fixture.step().catch((error: unknown) => {
            if (!failing.struck) throw error;
          });
          isBroken ||= failing.struck;
          await fixture.use({});
        };
        for (const [served, ends] of [
          [wrong, 'failing'],
          [good, 'ok'],
        ] as const) {
          fixture.serve = () => served;
          await fixture.pass(1);
          await query(`UPDATE monitored_endpoint SET check_due_at = $1`, fixture.now);
          await fixture.step();
          await query(`UPDATE monitored_endpoint SET check_due_at = $1`, fixture.now);
          await fixture.step();
          await underFaults();
          await settle();
          expect({ nth, state: (await fixture.endpoint(account, name))['state'] }).toEqual({
            nth,
            state: ends,
          });
        }
        expect({ nth, sent: await fixture.sent(account) }).toEqual({
          nth,
          sent: [`problem ${name}: wrong_name`, `recovered ${name}: wrong_name`],
        });
        await fixture.sendMails();
        expect(await fixture.mails(account)).toEqual([
          { kind: 'monitoring-endpoints', occasion: 'at-once', reports: 2 },
        ]);
      }
      expect(nth).toBeGreaterThan(20);
    },
  );

  it('whose clock is hours ahead checks nothing before it is due', async () => {
    const account = await fixture.account('www.example.com');
    await query(`UPDATE monitored_endpoint SET check_due_at = now() + interval '1 hour'`);
    jest.useFakeTimers({ now: Date.now() + 5 * hourMs, doNotFake: [...notFaked] });
    try {
      await fixture.checks.step(fixture.lease);
      await fixture.checks.step(fixture.lease);
      await query(`UPDATE monitored_endpoint SET check_due_at = now()`);
      expect(fixture.questions).toEqual([]);
      while (fixture.questions.length === 0) await fixture.checks.step(fixture.lease);
    } finally {
      jest.useRealTimers();
    }
    await fixture.checks.settled();
    await fixture.checks.step(fixture.lease);
    const { looked_at: lookedAt } = await fixture.endpoint(account, 'www.example.com');
    expect(Math.abs((lookedAt as Date).getTime() - Date.now())).toBeLessThan(hourMs);
    expect(await fixture.valve.turn(fixture.lease)).toBe(false);
  });

  it('that was frozen during a look stores nothing after another one took over', async () => {
    const account = await fixture.account('www.example.com');
    fixture.serve = () => wrong;
    const { checks, lease } = fixture;
    await checks.step(lease, fixture.now);
    const later = new Date(fixture.now.getTime() + 1_000);
    await checks.step(lease, later);
    await checks.settled();
    await fixture.use({});
    await expect(checks.step(lease, later)).rejects.toThrow(LeaseLost);
    checks.forget();
    expect(await fixture.endpoint(account, 'www.example.com')).toMatchObject({ looked_at: null });
    await settle();
    expect(await fixture.sent(account)).toEqual(['problem www.example.com: wrong_name']);
  });
});

describe('the rate', () => {
  it('is limited after an outage, and does not let an account wait for another one with many', async () => {
    const many = Array.from({ length: 400 }, (_, nth) => `n${nth}.example.com`);
    await fixture.account(...many);
    await query(`UPDATE monitored_endpoint SET check_due_at = check_due_at - interval '3 hours'`);
    const quiet = await fixture.account('quiet.example.com');
    await fixture.use({ ENDPOINT_CHECKS_PER_SECOND: 20 });
    const perSecond: number[] = [];
    let quietAt = -1;
    for (let second = 0; second <= 25; second += 1) {
      fixture.now = new Date(fixture.now.getTime() + 1_000);
      const before = fixture.questions.length;
      while (await fixture.checks.step(fixture.lease, fixture.now)) await fixture.checks.settled();
      await fixture.checks.settled();
      perSecond.push(fixture.questions.length - before);
      if (quietAt < 0 && fixture.questions.some(({ hosts }) => hosts[0]?.host === 'quiet.example.com'))
        quietAt = second;
    }
    expect(Math.max(...perSecond)).toBe(20);
    expect(fixture.questions).toHaveLength(401);
    expect(quietAt).toBe(1);
    await fixture.step();
    expect(await fixture.endpoint(quiet, 'quiet.example.com')).toMatchObject({ state: 'ok' });
  });

  it('decreases for endpoints without a result', async () => {
    const account = await fixture.account('www.example.com');
    fixture.serve = () => null;
    await fixture.pass(24 * hourMs);
    expect(fixture.questions.length).toBeLessThan(35);
    expect(await fixture.endpoint(account, 'www.example.com')).toMatchObject({
      state: 'not_checked',
      looked_at: null,
    });
    fixture.serve = () => 'failed';
    await fixture.pass(2 * hourMs);
    fixture.serve = () => good;
    await fixture.pass(2 * hourMs);
    expect(await fixture.endpoint(account, 'www.example.com')).toMatchObject({ state: 'ok', attempts: 0 });
  });
});

describe('when many endpoints turn bad', () => {
  // Twice as many endpoints are checked until the first ones are confirmed: chance decides nothing.
  beforeEach(async () => await fixture.use({ ENDPOINT_CONFIRM_EVERY: 18 * minuteMs }));

  const names = (from: string, length = 60) =>
    Array.from({ length }, (_, nth) => `${from}${nth}.example.com`);

  /** Of all endpoints, evenly over the round that follows. */
  const spread = async () =>
    await query(
      `UPDATE monitored_endpoint AS endpoint SET check_due_at = $1::timestamptz + nth * interval '6 hours' / count
       FROM (SELECT account_id, dns_name, row_number() OVER (ORDER BY md5(dns_name)) AS nth, count(*) OVER () AS count
             FROM monitored_endpoint) AS place
       WHERE place.account_id = endpoint.account_id AND place.dns_name = endpoint.dns_name`,
      fixture.now,
    );

  it('in an outage, no account is notified, the operator is once, and only what is true is reported after it', async () => {
    const accounts = [await fixture.account(...names('a', 150)), await fixture.account(...names('b', 150))];
    await spread();
    const [first = '', second = ''] = accounts;
    const failing = new Set(['a0.example.com', 'a1.example.com']);
    fixture.serve = (host) => (failing.has(host) ? wrong : good);
    await fixture.pass(8 * hourMs);
    const before = ['problem a0.example.com: wrong_name', 'problem a1.example.com: wrong_name'];
    expect([...(await fixture.sent(first))].sort()).toEqual(before);
    await query(`DELETE FROM mail`);
    // Something else answers for every host; one of the reported problems ends meanwhile, and there is a new one.
    fixture.serve = () => wrong;
    await fixture.pass(10 * hourMs);
    expect(await query(`SELECT ended_at FROM endpoint_hold`)).toEqual([{ ended_at: null }]);
    failing.delete('a0.example.com');
    failing.add('b7.example.com');
    for (const served of ['connect', 'no_name', null, wrong] as const) {
      fixture.serve = () => served;
      await fixture.pass(13 * hourMs);
      await fixture.sendMails();
    }
    expect([...(await fixture.sent(first))].sort()).toEqual(before);
    expect(await fixture.sent(second)).toEqual([]);
    for (const account of accounts) expect(await fixture.mails(account)).toEqual([]);
    expect(await fixture.mails(null)).toEqual([
      expect.objectContaining({ kind: 'monitoring-endpoints-held' }),
    ]);
    fixture.serve = (host) => (failing.has(host) ? wrong : good);
    await fixture.pass(24 * hourMs);
    expect(await query(`SELECT is_released FROM endpoint_hold WHERE ended_at IS NOT NULL`)).toHaveLength(1);
    expect((await fixture.sent(first)).slice(2)).toEqual(['recovered a0.example.com: wrong_name']);
    expect(await fixture.sent(second)).toEqual(['problem b7.example.com: wrong_name']);
    expect(await fixture.mails(null)).toHaveLength(1);
  });

  it('the operator can release the reports', async () => {
    const account = await fixture.account(...names('a', 250));
    await spread();
    await fixture.pass(8 * hourMs);
    fixture.serve = () => wrong;
    await fixture.pass(8 * hourMs);
    expect(await fixture.sent(account)).toEqual([]);
    await query(
      `UPDATE endpoint_hold SET ended_at = $1, is_released = true WHERE ended_at IS NULL`,
      fixture.now,
    );
    await fixture.pass(8 * hourMs);
    expect(await fixture.sent(account)).toHaveLength(250);
    expect(await query(`SELECT 1 FROM endpoint_hold`)).toHaveLength(1);
  });

  it.each(['before', 'after'] as const)(
    'reports are held back and resumed once when the connection breaks %s a statement or COMMIT',
    async (when) => {
      let nth = 1;
      for (let isBroken = true; isBroken; nth += 1) {
        for (const table of ['mail', 'endpoint_hold', 'monitored_endpoint'])
          await query(`DELETE FROM ${table}`);
        await fixture.account(...names('a', 30));
        isBroken = false;
        const turns = async () => {
          while (await fixture.valve.turn(fixture.lease, fixture.now));
        };
        for (const badSince of [fixture.now, null]) {
          await query(
            `UPDATE monitored_endpoint SET bad_since = $1, looked_at = $2::timestamptz, held_since = $2::timestamptz,
               check_due_at = $2::timestamptz + interval '1 day'`,
            badSince,
            fixture.now,
          );
          const failing = new FailingDatabase(fixture.findings.asWorker, nth, when);
          await fixture.use({}, failing.source);
          await turns().catch((error: unknown) => {
            if (!failing.struck) throw error;
          });
          isBroken ||= failing.struck;
          await fixture.use({});
          await turns();
          expect({ nth, holds: await query(`SELECT ended_at AS at FROM endpoint_hold`) }).toEqual({
            nth,
            holds: [{ at: badSince === null ? fixture.now : null }],
          });
          expect(await fixture.mails(null)).toHaveLength(1);
          const held = await query(
            `SELECT 1 FROM monitored_endpoint WHERE held_since IS NOT NULL AND check_due_at > $1::timestamptz + interval '1 hour'`,
            fixture.now,
          );
          expect({ nth, held: held.length }).toEqual({ nth, held: badSince === null ? 0 : 30 });
        }
      }
      expect(nth).toBeGreaterThan(8);
    },
  );

  it('of one account among others, or of new endpoints, reports are not held back', async () => {
    const [loud, quiet] = [await fixture.account(...names('a')), await fixture.account(...names('b'))];
    await fixture.pass(8 * hourMs);
    const added = await fixture.account(...names('c'));
    fixture.serve = (host) => (host.startsWith('b') && host !== 'b5.example.com' ? good : wrong);
    await fixture.pass(8 * hourMs);
    expect(await fixture.sent(loud)).toHaveLength(60);
    expect(await fixture.sent(added)).toHaveLength(60);
    expect(await fixture.sent(quiet)).toEqual(['problem b5.example.com: wrong_name']);
  });
});

describe('mails', () => {
  /** As if the time passed. */
  const wait = async (minutes: number) =>
    await query(
      `UPDATE monitoring_account SET endpoint_mailed_at = endpoint_mailed_at - $1::int * interval '1 minute',
         endpoint_mail_due_at = endpoint_mail_due_at - $1::int * interval '1 minute'`,
      minutes,
    );

  it('are sent at once, and further ones gathered', async () => {
    const account = await fixture.account('a.example.com');
    fixture.serve = () => wrong;
    await settle();
    await fixture.sendMails();
    await fixture.add(account, ['b.example.com', 'c.example.com']);
    await settle();
    await fixture.sendMails();
    expect(await fixture.mails(account)).toMatchObject([{ occasion: 'at-once', reports: 1 }]);
    await wait(15);
    await fixture.sendMails();
    await fixture.sendMails();
    expect(await fixture.mails(account)).toMatchObject([{}, { occasion: 'gathered', reports: 2 }]);
  });

  it('are daily digests, or off, as the account chooses; muted and deleted endpoints are left out', async () => {
    const [daily, off] = [
      await fixture.account('a.example.com', 'b.example.com', 'c.example.com'),
      await fixture.account('d.example.com'),
    ];
    await fixture.findings.settings(daily, { endpoint_mail: 'digest' });
    await fixture.findings.settings(off, { endpoint_mail: 'off' });
    fixture.serve = () => wrong;
    await settle();
    await fixture.sendMails();
    expect(await fixture.mails(daily)).toEqual([]);
    await query(`UPDATE monitored_endpoint SET muted = true WHERE dns_name = 'b.example.com'`);
    await query(`DELETE FROM monitored_endpoint WHERE dns_name = 'c.example.com'`);
    await wait(24 * 60);
    await fixture.sendMails();
    expect(await fixture.mails(daily)).toMatchObject([{ occasion: 'digest', reports: 1 }]);
    expect(await fixture.mails(off)).toEqual([]);
    expect(await fixture.sent(off)).toHaveLength(1);
  });
});
