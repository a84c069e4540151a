import { randomBytes } from 'node:crypto';
import { FindingsFixture, issuanceFor, SpecCa } from '../testing/findings-fixture';
import { ExamineFindings } from './examine-findings';

let fixture: FindingsFixture;
beforeAll(async () => {
  fixture = await FindingsFixture.open();
});
afterAll(async () => await fixture.close());

const domains = ['.example.com'];
const hex = () => randomBytes(32).toString('hex');

const reasonsOf = async (account: string) => (await fixture.findings(account)).map(({ reason }) => reason);

it('records each certificate once per account, however often it is read', async () => {
  const [account, other] = [await fixture.account(), await fixture.account()];
  const both = { [account]: domains, [other]: ['www.example.com'] };
  const issuances = [issuanceFor(['www.example.com', 'a.example.com']), issuanceFor(['b.example.com'])];
  expect(await fixture.find(both, issuances)).toEqual({ found: 3, unknown: 3 });
  expect(await fixture.find(both, issuances)).toEqual({ found: 0, unknown: 0 });
  expect((await fixture.findings(account)).map(({ dnsNames }) => dnsNames)).toEqual([
    ['www.example.com', 'a.example.com'],
    ['b.example.com'],
  ]);
  // The account learns nothing of names that it does not monitor.
  expect((await fixture.findings(other)).map(({ dnsNames }) => dnsNames)).toEqual([['www.example.com']]);
});

it('knows certificates by what the account has before the CA responds', async () => {
  const account = await fixture.account();
  const [own, open, certified] = [hex(), hex(), issuanceFor(['d.example.com'])];
  const plan = await fixture.terms(account, own, ['a.example.com', 'b.example.com']);
  await fixture.terms(account, open, ['a.example.com'], true);
  await fixture.certificate(account, plan, certified.tbsSha256);
  await fixture.find({ [account]: domains }, [
    issuanceFor(['a.example.com', 'unmonitored.example.net'], { spkiSha256: own }),
    issuanceFor(['a.example.com', 'www.a.example.com'], { spkiSha256: open }),
    certified,
  ]);
  const findings = await fixture.findings(account);
  expect(findings.map(({ reason }) => reason)).toEqual(['order_key', 'waiting', 'certificate']);
  expect(findings.map(({ planId }) => planId)).toEqual([plan, expect.any(String), plan]);
  expect(findings.some(({ alertIsDue }) => alertIsDue)).toBe(false);
});

it('does not know what an attacker makes look like it', async () => {
  const [account, tenant] = [await fixture.account(), await fixture.account()];
  const [own, foreign] = [hex(), hex()];
  const [mine, theirs] = [
    issuanceFor(['a.example.com']),
    issuanceFor(['a.example.com'], { spkiSha256: foreign }),
  ];
  const plan = await fixture.terms(account, own, ['a.example.com']);
  await fixture.certificate(account, plan, mine.tbsSha256);
  const foreignPlan = await fixture.terms(tenant, foreign, ['a.example.com'], true);
  await fixture.certificate(tenant, foreignPlan, theirs.tbsSha256);
  await fixture.known(tenant, { spki: foreign, names: ['a.example.com'] });
  await fixture.find({ [account]: domains }, [
    // The key of the account with a foreign name.
    issuanceFor(['a.example.com', 'evil.example.com'], { spkiSha256: own }),
    // Serial and issuer of an own certificate.
    issuanceFor(['a.example.com'], { serial: mine.serial, issuer: mine.issuer, notAfter: mine.notAfter }),
    // Another tenant's certificate for the same name.
    theirs,
  ]);
  const findings = await fixture.findings(account);
  expect(findings.map(({ reason }) => reason)).toEqual(['unknown', 'unknown', 'unknown']);
  expect(findings.map(({ planId }) => planId)).toEqual([null, null, null]);
});

it('stores any text and any time', async () => {
  const account = await fixture.account();
  const hostile = ['<b>\u202e&"\'\\x00 a.example.com', "a'); DROP TABLE account;--.example.com"];
  const issuance = issuanceFor(hostile, {
    notBefore: new Date('0001-01-01T00:00:00Z'),
    notAfter: new Date('9999-12-31T23:59:59Z'),
  });
  await fixture.find({ [account]: domains }, [issuance]);
  const [found] = await fixture.findings(account);
  expect(found?.dnsNames).toHaveLength(2);
  const names = [
    { dnsName: '\ud800\0.example.com', monitoredDomain: '.example.com', isWildcard: false, isOddName: true },
  ];
  const unreadable = {
    position: null,
    tbsSha256: randomBytes(32),
    spkiSha256: null,
    issuer: null,
    notBefore: new Date(-1e15),
    notAfter: new Date(8.64e15),
    dnsNames: [],
    accounts: [
      { account, names, isComplete: true },
      { account: '1', names, isComplete: true },
    ],
  };
  expect(await fixture.recordAll([unreadable])).toEqual({ found: 1, unknown: 1 });
});

it('delays only what is alerted: the summary of a backfill says which of its certificates are unknown', async () => {
  const account = await fixture.account();
  await fixture.settings(account, { alert_delay_minutes: 60 });
  const of = (name: string) => [issuanceFor([name])];
  const found = { found: 1, unknown: 1 };
  expect(await fixture.find({ [account]: domains }, of('a.example.com'), 'backfill')).toEqual(found);
  expect(await fixture.find({ [account]: domains }, of('b.example.com'))).toEqual({ ...found, unknown: 0 });
  expect(await reasonsOf(account)).toEqual(['unknown', 'waiting']);
});

it('counts what is beyond the limit of an account and day, and reports that once', async () => {
  const [account, other] = [await fixture.account(), await fixture.account()];
  await fixture.core.query(`UPDATE account SET max_findings_per_day = 2 WHERE id = $1`, [account]);
  const some = () => Array.from({ length: 3 }, () => issuanceFor(['a.example.com']));
  const both = { [account]: domains, [other]: domains };
  expect(await fixture.find(both, some())).toEqual({ found: 5, unknown: 5 });
  expect(await fixture.find(both, some())).toEqual({ found: 3, unknown: 3 });
  const [counters] = await fixture.core.query<{ found: number; throttled: number }[]>(
    `SELECT found, throttled FROM monitoring_account WHERE account_id = $1`,
    [account],
  );
  expect(counters).toEqual({ found: 2, throttled: 4 });
  const deliveries = await fixture.deliveries(account);
  expect(deliveries.map(({ event }) => event)).toEqual(['monitoring.overflow']);
  expect(JSON.parse(deliveries[0]?.body ?? '')).toMatchObject({ limit: 2, throttled: 1 });
  expect(await fixture.sentMails(account)).toEqual([
    { kind: 'monitoring-overflow', facts: { since: expect.any(String), counted: 1 } },
  ]);
  expect(await fixture.deliveries(other)).toEqual([]);
});

it('adds hosts up to the limit of the account, and reports them to webhooks that selected it by name', async () => {
  const account = await fixture.account();
  await fixture.core.query(`UPDATE account SET max_monitored_endpoints = 2 WHERE id = $1`, [account]);
  await fixture.core.query(
    `UPDATE webhook_endpoint SET events = '{monitoring.new_endpoint}' WHERE account_id = $1`,
    [account],
  );
  await fixture.find({ [account]: domains }, [issuanceFor(['old.example.com'])], 'backfill');
  const notAfter = new Date(Date.now() + 400 * 86_400_000);
  await fixture.find({ [account]: domains }, [
    issuanceFor([
      '*.example.com',
      'w*.example.com',
      'odd name.example.com',
      'a.example.com',
      'b.example.com',
    ]),
    issuanceFor(['old.example.com'], { notAfter }),
  ]);
  const endpoints = await fixture.core.query<{ dns_name: string; last_not_after: Date }[]>(
    `SELECT dns_name, last_not_after FROM monitored_endpoint WHERE account_id = $1 ORDER BY dns_name`,
    [account],
  );
  expect(endpoints.map(({ dns_name }) => dns_name)).toEqual(['a.example.com', 'old.example.com']);
  expect(endpoints[1]?.last_not_after).toEqual(notAfter);
  expect((await fixture.deliveries(account)).map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    { dns_name: 'a.example.com', muted: false, ports: [443] },
  ]);
});

describe('classifying again', () => {
  it('knows what was authorized, imported or issued since, and cancels what was not sent', async () => {
    const lease = await fixture.lease('classifying');
    await fixture.classifying.round(lease, 0);
    const account = await fixture.account();
    const issuances = ['a', 'b', 'c', 'd'].map((name) => issuanceFor([`${name}.example.com`]));
    const [byCert, byKey, imported, unknown] = issuances;
    await fixture.find({ [account]: domains }, issuances);
    await fixture.alerts.send(await fixture.lease('alerts'));
    expect(new Set((await fixture.deliveries(account)).map(({ state }) => state))).toEqual(
      new Set(['pending']),
    );

    await fixture.known(account, { tbs: byCert?.tbsSha256 ?? '' });
    await fixture.known(account, { spki: byKey?.spkiSha256 ?? '', names: ['b.example.com'] });
    await fixture.known(account, { spki: unknown?.spkiSha256 ?? '', names: ['a.example.com'] });
    const plan = await fixture.terms(account, hex(), ['x.example.com']);
    await fixture.certificate(account, plan, imported?.tbsSha256 ?? '');
    await fixture.classifying.round(lease, 10_000);
    expect(await reasonsOf(account)).toEqual(['known_cert', 'known_key', 'certificate', 'unknown']);
    expect((await fixture.findings(account)).map(({ mailDue }) => mailDue)).toEqual([
      false,
      false,
      false,
      true,
    ]);
    const pending = (await fixture.deliveries(account)).filter(({ state }) => state === 'pending');
    expect(pending.map(({ subject }) => subject)).toEqual([`finding:${unknown?.tbsSha256}`]);
  });

  it('knows what was authorized while findings could not be examined', async () => {
    const lease = await fixture.lease('classifying');
    await fixture.classifying.round(lease, 11_000);
    const account = await fixture.account();
    const issuance = issuanceFor(['a.example.com']);
    await fixture.find({ [account]: domains }, [issuance]);
    await fixture.known(account, { tbs: issuance.tbsSha256 });
    const examine = jest
      .spyOn(ExamineFindings.prototype, 'examine')
      .mockRejectedValue(new Error('the ct database is unavailable'));
    await expect(fixture.classifying.round(lease, 14_000)).rejects.toThrow('unavailable');
    examine.mockRestore();
    await fixture.classifying.round(lease, 17_000);
    expect(await reasonsOf(account)).toEqual(['known_cert']);
  });

  it('decides waiting findings when the issuance has ended', async () => {
    const lease = await fixture.lease('classifying');
    const account = await fixture.account();
    const key = hex();
    await fixture.terms(account, key, ['a.example.com'], true);
    await fixture.find({ [account]: domains }, [issuanceFor(['b.example.com'], { spkiSha256: key })]);
    await fixture.core.query(`UPDATE monitoring_finding SET classify_at = now() WHERE account_id = $1`, [
      account,
    ]);
    await fixture.classifying.round(lease, 20_000);
    expect(await reasonsOf(account)).toEqual(['waiting']);
    await fixture.core.query(
      `UPDATE issuance SET state = 'failed', closed_at = now() WHERE account_id = $1`,
      [account],
    );
    await fixture.core.query(`UPDATE monitoring_finding SET classify_at = now() WHERE account_id = $1`, [
      account,
    ]);
    await fixture.classifying.round(lease, 30_000);
    expect(await fixture.findings(account)).toMatchObject([{ state: 'unknown', alertIsDue: true }]);
  });

  it('mails the summary of a backfill again when one of its certificates turns out to be unknown later', async () => {
    const lease = await fixture.lease('classifying');
    const account = await fixture.account();
    const key = hex();
    await fixture.terms(account, key, ['a.example.com'], true);
    const issuance = issuanceFor(['b.example.com'], { spkiSha256: key });
    expect(await fixture.find({ [account]: domains }, [issuance], 'backfill')).toEqual({
      found: 1,
      unknown: 0,
    });
    await fixture.core.query(
      `INSERT INTO monitoring_backfill (change_id, account_id, name, position, until_position, state, found, finished_at)
       VALUES (1, $1, '.example.com', 1, 1, 'done', 1, now())`,
      [account],
    );
    await fixture.core.query(
      `UPDATE monitoring_finding SET classify_at = now(), found_at = now() - interval '1 hour' WHERE account_id = $1`,
      [account],
    );
    await fixture.classifying.round(lease, 35_000);
    expect(await reasonsOf(account)).toEqual(['unknown']);
    const [backfill] = await fixture.core.query(`SELECT unknown, mail_due FROM monitoring_backfill`);
    expect(backfill).toEqual({ unknown: 1, mail_due: true });
  });

  it('counts what turns out to be unknown later for the backfill that superseded the one that found it', async () => {
    const lease = await fixture.lease('classifying');
    const account = await fixture.account();
    const keys = [hex(), hex()];
    for (const key of keys) await fixture.terms(account, key, ['a.example.com'], true);
    const issuances = keys.map((spkiSha256) => issuanceFor(['b.example.com'], { spkiSha256 }));
    await fixture.find({ [account]: domains }, issuances, 'backfill');
    await fixture.core.query(
      `INSERT INTO monitoring_backfill (change_id, account_id, name, position, until_position, state, found, finished_at)
       VALUES (11, $1, '.example.com', 1, 1, 'canceled', 1, now()), (12, $1, '.example.com', 1, 1, 'done', 2, now())`,
      [account],
    );
    await fixture.core.query(
      `UPDATE monitoring_finding SET classify_at = now(), found_at = now() - interval '1 hour',
         backfill_id = CASE WHEN spki_sha256 = decode($2, 'hex') THEN 12 ELSE 11 END WHERE account_id = $1`,
      [account, keys[0]],
    );
    await fixture.classifying.round(lease, 35_000);
    expect(await reasonsOf(account)).toEqual(['unknown', 'unknown']);
    expect(
      await fixture.core.query(
        `SELECT unknown, mail_due FROM monitoring_backfill WHERE account_id = $1 ORDER BY change_id`,
        [account],
      ),
    ).toEqual([
      { unknown: 0, mail_due: false },
      { unknown: 2, mail_due: true },
    ]);
  });

  it('verifies signatures of authorized CAs under curated keys', async () => {
    const lease = await fixture.lease('classifying');
    const [ca, other, uncurated] = [new SpecCa('Good CA'), new SpecCa('Good CA'), new SpecCa('Good CA')];
    for (const [key, domain] of [
      [ca, 'good.example'],
      [other, 'other.example'],
    ] as const)
      await fixture.ct.query(
        `INSERT INTO ct_issuer_profile (spki_sha256, caa_domains, as_of, source) VALUES ($1, $2, now(), 'spec')`,
        [key.spkiSha256, [domain]],
      );
    const account = await fixture.account();
    await fixture.settings(account, { authorized_cas: ['good.example'] });
    await fixture.find({ [account]: domains }, [
      ca.issue(['a.example.com']),
      other.issue(['a.example.com']),
      uncurated.issue(['a.example.com']),
      // The log reports the authorized CA as the issuer of what it did not sign.
      other.issue(['a.example.com'], ca.issuer),
    ]);
    expect(await reasonsOf(account)).toEqual(['waiting', 'waiting', 'waiting', 'waiting']);
    await fixture.classifying.round(lease, 40_000);
    expect(await reasonsOf(account)).toEqual(['authorized_ca', 'unknown', 'unknown', 'unknown']);
  });

  it('applies an authorized CA to what was found before', async () => {
    const lease = await fixture.lease('classifying');
    const ca = new SpecCa('Late CA');
    await fixture.ct.query(
      `INSERT INTO ct_issuer_profile (spki_sha256, caa_domains, as_of, source) VALUES ($1, '{late.example}', now(), 'spec')`,
      [ca.spkiSha256],
    );
    const account = await fixture.account();
    await fixture.find({ [account]: domains }, [ca.issue(['a.example.com'])]);
    await fixture.settings(account, { authorized_cas: ['late.example'] });
    await fixture.change(account, 'settings', '');
    await fixture.classifying.round(lease, 50_000);
    expect(await reasonsOf(account)).toEqual(['authorized_ca']);
  });

  it('writes nothing after another process took the task', async () => {
    const lost = await fixture.lease('classifying');
    await fixture.lease('classifying');
    const account = await fixture.account();
    await fixture.find({ [account]: domains }, [issuanceFor(['a.example.com'])]);
    await fixture.core.query(
      `UPDATE monitoring_finding SET state = 'waiting', classify_at = now() WHERE account_id = $1`,
      [account],
    );
    await expect(fixture.classifying.round(lost, 60_000)).rejects.toThrow('monitoring_task');
    expect(await reasonsOf(account)).toEqual(['unknown']);
  });

  it('classifies the findings of an account although another one has many that wait', async () => {
    const [busy, quiet] = [await fixture.account(), await fixture.account()];
    const wait = async (account: string, count: number) => {
      const open = hex();
      await fixture.terms(account, open, ['a.example.com'], true);
      const issuances = Array.from({ length: count }, () =>
        issuanceFor(['a.example.com', 'b.example.com'], { spkiSha256: open }),
      );
      await fixture.find({ [account]: domains }, issuances);
      await fixture.core.query(
        `UPDATE issuance SET state = 'failed', closed_at = now() WHERE account_id = $1`,
        [account],
      );
      await fixture.core.query(`UPDATE monitoring_finding SET classify_at = now() WHERE account_id = $1`, [
        account,
      ]);
    };
    await wait(busy, 600);
    await wait(quiet, 1);
    await fixture.classifying.round(await fixture.lease('classifying'));
    expect(await reasonsOf(quiet)).toEqual(['unknown']);
    const reasons = await reasonsOf(busy);
    expect(reasons).toContain('unknown');
    expect(reasons).toContain('waiting');
    await fixture.classifying.round(await fixture.lease('classifying'));
    await fixture.classifying.round(await fixture.lease('classifying'));
    expect(await reasonsOf(busy)).not.toContain('waiting');
  });
});
