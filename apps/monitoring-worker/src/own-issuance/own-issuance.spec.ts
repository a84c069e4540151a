import { randomBytes } from 'node:crypto';
import {
  type AttachedCertificate,
  attachOpen,
  CoreDatabaseFixture,
  FailingDatabase,
  validity,
  WebhookFixture,
} from '@certwright/core-testing';
import { coreDataSource, OutboxWrites, Transactions } from '@certwright/core-schema';
import { indexKeys } from '@certwright/ct';
import { CrlIds, crlsOf, IssuerIds, type NewIssuance, storeIssuances } from '@certwright/ct-index';
import { ctDataSource } from '@certwright/ct-schema';
import { anIssuance, CtDatabaseFixture } from '@certwright/ct-testing';
import { AccountEvents, Mails } from '@certwright/delivery';
import { LeaseLost } from '@certwright/postgres';
import { Metrics, type RunningProcess } from '@certwright/service';
import type { DataSource } from 'typeorm';
import { type TaskLease, TaskLeases } from '../tasks/task-leases';
import { coverageOf } from './index-coverage';
import { OwnIssuanceEvents } from './own-issuance-events';
import { Sightings } from './sightings';
import { StrayCertificates } from './stray-certificates';

jest.setTimeout(60_000);

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const accountId = '17';

let core: CoreDatabaseFixture;
/** The same database as the role of the process. */
let asWorker: DataSource;
let ctAsWorker: DataSource;
let ct: CtDatabaseFixture;
let lease: TaskLease;
let metrics: Metrics;
let sightings: Sightings;
let strays: StrayCertificates;
let alarms: string[];
let reportedWrites: number;

beforeAll(async () => {
  [core, ct] = await Promise.all([CoreDatabaseFixture.open(), CtDatabaseFixture.open()]);
  const settings = { applicationName: 'monitoring-worker', poolSize: 4, statementTimeoutMs: 10_000 };
  [asWorker, ctAsWorker] = await Promise.all([
    coreDataSource({ url: core.urlOf('monitoring-worker'), ...settings }).initialize(),
    ctDataSource({ url: ct.urlOf('monitoring-worker'), ...settings }).initialize(),
  ]);
  await core.account(accountId);
  await core.database.query(`UPDATE account SET contact_email = 'a@example.com' WHERE id = $1`, [accountId]);
  await new WebhookFixture(core).endpoint(accountId, ['monitoring.*']);
});
afterAll(async () => {
  await Promise.all([asWorker.destroy(), ctAsWorker.destroy()]);
  await Promise.all([core.close(), ct.close()]);
});

beforeEach(async () => {
  await core.database.query(`UPDATE certificate SET sct_at = NULL`);
  await core.database.query(`UPDATE issuance SET strays_checked = true`);
  await core.database.query(`TRUNCATE webhook_delivery, mail, outbox, stray_certificate CASCADE`);
  await ct.database.query('TRUNCATE ct_issuance, ct_known, ct_run, ct_block, ct_log CASCADE');
  await ct.database.query('UPDATE ct_sequence SET next = 1');
  await followedLog(0);
  const leases = new TaskLeases(asWorker);
  await core.database.query(`UPDATE monitoring_task SET leased_until = NULL`);
  lease = (await leases.take('own-issuance', hourMs))!;
  restart();
});

/** A worker without any state of the one before. */
function restart(database = asWorker): void {
  alarms = [];
  metrics = new Metrics('monitoring-worker');
  const log = { error: (_: object, text: string) => void alarms.push(text), warn: () => undefined };
  const running = { log, metrics } as unknown as RunningProcess;
  const events = new OwnIssuanceEvents(new AccountEvents(), new Mails(database));
  const config = { NOT_LOGGED_AFTER: dayMs, CT_INDEX_SCOPE: 'all' } as const;
  const writes = new OutboxWrites();
  reportedWrites = 0;
  writes.onCommitted(() => (reportedWrites += 1));
  const transactions = new Transactions(database, writes);
  sightings = new Sightings(database, transactions, ctAsWorker, events, config, running);
  strays = new StrayCertificates(database, transactions, ctAsWorker, events, running);
}

/** The only log that is followed, and how old what was read of it is. */
async function followedLog(lagMs: number): Promise<void> {
  await ct.database.query(`DELETE FROM ct_log`);
  await ct.database.query(
    `INSERT INTO ct_log (log_id, description, operator, kind, url, key_der, mmd_s, list_state, enabled, head_at, created_at)
     VALUES ($1, 'Log', 'Operator', 'static', 'https://log.example/', '', 60, 'usable', true,
       now() - $2::float8 * interval '1 millisecond', now() - interval '30 days')`,
    [randomBytes(32), lagMs],
  );
}

/** An issuance of the account that got its certificate; `sctAgoMs`: when it got its SCT. */
async function issued(
  dnsNames: readonly string[],
  sctAgoMs: number | null = hourMs,
): Promise<AttachedCertificate & { readonly tbsSha256: Buffer; readonly spkiSha256: Buffer }> {
  const { planId, termsId } = await core.plan(accountId, dnsNames);
  const opening = { planId, accountId, termsId, revision: 1, dnsNames, settlingMs: 0 };
  await core.transactions.run(async (tx) => await core.issuances.open(tx, opening));
  const tbsSha256 = randomBytes(32);
  const attached = await attachOpen(core, planId, validity(-1, 90), {
    tbsSha256,
    hasSctList: sctAgoMs !== null,
  });
  if (sctAgoMs !== null)
    await core.database.query(
      `UPDATE certificate SET sct_at = now() - $2::float8 * interval '1 millisecond' WHERE id = $1`,
      [attached.certificateId, sctAgoMs],
    );
  const [{ spki }] = await core.database.query<[{ spki: Buffer }]>(
    `SELECT spki_sha256 AS spki FROM terms WHERE id = $1`,
    [termsId],
  );
  return { ...attached, tbsSha256, spkiSha256: spki };
}

/** When the issuance was opened and closed, hours ago. */
async function ended(issuanceId: string, openedH: number, closedH: number, state = 'issued'): Promise<void> {
  await core.database.query(
    `UPDATE issuance SET opened_at = now() - $2 * interval '1 hour', closed_at = now() - $3 * interval '1 hour', state = $4,
       strays_checked = false WHERE id = $1`,
    [issuanceId, openedH, closedH, state],
  );
}

async function logged(
  dnsNames: readonly string[],
  { notAfter, ...change }: Partial<NewIssuance> & { readonly notAfter?: Date },
): Promise<void> {
  const issuance = anIssuance('', {
    dnsNames,
    nameKeys: indexKeys(dnsNames),
    ...(notAfter === undefined ? {} : { notAfter }),
    ...change,
  });
  const ids = new IssuerIds();
  await ids.ensure(ct.database.manager, [issuance.issuer]);
  const crls = await crlsOf(ct.database.manager, new CrlIds(), ids, [issuance]);
  await ct.database.transaction(async (tx) => await storeIssuances(tx, ids, [issuance], crls));
}

async function certificate(id: string) {
  const [row] = await core.database.query<
    [{ notAfter: Date; sightedAt: Date | null; notLoggedAt: Date | null; sctAt: Date }]
  >(
    `SELECT not_after AS "notAfter", sighted_at AS "sightedAt", not_logged_at AS "notLoggedAt", sct_at AS "sctAt"
     FROM certificate WHERE id = $1`,
    [id],
  );
  return row;
}

const deliveries = async () =>
  await core.database.query<{ event: string; body: string }[]>(
    `SELECT event, body FROM webhook_delivery ORDER BY created_at`,
  );
const mails = async () =>
  (await core.database.query<{ facts: object }[]>(`SELECT facts FROM mail ORDER BY id`)).map(
    ({ facts }) => facts,
  );

describe('a certificate that was issued here', () => {
  it('is recorded as found when the index has it, and the delay is measured', async () => {
    const own = await issued(['found.example.com'], 60_000);
    const { notAfter } = await certificate(own.certificateId);
    expect(await sightings.look(lease)).toBeGreaterThan(0);
    expect(await certificate(own.certificateId)).toMatchObject({ sightedAt: null, notLoggedAt: null });
    await logged(['found.example.com'], { tbsSha256: own.tbsSha256.toString('hex'), notAfter });
    await sightings.look(lease);
    expect((await certificate(own.certificateId)).sightedAt).toBeInstanceOf(Date);
    expect(await metrics.registry.metrics()).toMatch(/own_sighting_delay_seconds_count\{[^}]*\} 1\n/);
    expect(alarms).toEqual([]);
  });

  it('that the index has is not reported when others have too many names for one response', async () => {
    const owns = [await issued(['a.example.com'], 2 * dayMs), await issued(['b.example.com'], 2 * dayMs)];
    const long = Array.from({ length: 45_000 }, (_, nth) => `${nth}.${'n'.repeat(200)}`);
    for (const { certificateId, tbsSha256 } of owns) {
      const { notAfter } = await certificate(certificateId);
      const tbs = tbsSha256.toString('hex');
      await logged(['a.example.com'], { tbsSha256: tbs, notAfter, dnsNames: long, nameKeys: [] });
    }
    const sighted = async () =>
      await Promise.all(
        owns.map(async ({ certificateId }) => (await certificate(certificateId)).sightedAt !== null),
      );
    await sightings.look(lease);
    expect(await sighted()).toEqual([true, false]);
    await sightings.look(lease);
    expect(await sighted()).toEqual([true, true]);
    expect(alarms).toEqual([]);
  });

  it('that is not in the index a day after its SCT is reported once, also by a restarted worker, and found later', async () => {
    const own = await issued(['late.example.com'], dayMs + hourMs);
    const { notAfter, sctAt } = await certificate(own.certificateId);
    await sightings.look(lease);
    expect(alarms).toEqual([
      'ALARM: a certificate that was issued here is not in the index of public certificates',
    ]);
    expect(reportedWrites).toBe(1);
    restart();
    await sightings.look(lease);
    expect(alarms).toEqual([]);
    expect(await metrics.registry.metrics()).toMatch(
      /own_unsighted_certificates\{state="reported"[^}]*\} 1\n/,
    );
    const [delivery, ...others] = await deliveries();
    expect(others).toEqual([]);
    expect(delivery?.event).toBe('monitoring.not_logged');
    expect(JSON.parse(delivery?.body ?? '')).toMatchObject({
      problem: 'not_logged',
      order: null,
      tbs_sha256: own.tbsSha256.toString('hex'),
      pubkey_sha256: own.spkiSha256.toString('hex'),
      dns_names: ['late.example.com'],
      since: sctAt.toISOString(),
    });
    expect(await mails()).toEqual([{ problem: 'not-logged', certificateId: own.certificateId }]);
    await logged(['late.example.com'], { tbsSha256: own.tbsSha256.toString('hex'), notAfter });
    await sightings.look(lease);
    const { sightedAt, notLoggedAt } = await certificate(own.certificateId);
    expect([sightedAt, notLoggedAt]).toEqual([expect.any(Date), expect.any(Date)]);
  });

  it('is not reported while a log lags, or if it is older than the index', async () => {
    const own = await issued(['behind.example.com'], 2 * dayMs);
    const old = await issued(['old.example.com'], 40 * dayMs);
    await followedLog(3 * dayMs);
    await sightings.look(lease);
    expect(await deliveries()).toEqual([]);
    await followedLog(dayMs);
    await sightings.look(lease);
    expect((await certificate(own.certificateId)).notLoggedAt).toBeInstanceOf(Date);
    expect((await certificate(old.certificateId)).notLoggedAt).toBeNull();
    expect(alarms).toHaveLength(1);
  });

  it('is found in pages, and not looked for without an SCT', async () => {
    const names = ['a.page.example.com', 'b.page.example.com', 'c.page.example.com'];
    const own = await Promise.all(names.map(async (name) => await issued([name])));
    const none = await issued(['none.example.com'], null);
    for (const [nth, { certificateId, tbsSha256 }] of [...own, none].entries()) {
      const { notAfter } = await certificate(certificateId);
      await logged([names[nth] ?? 'none.example.com'], { tbsSha256: tbsSha256.toString('hex'), notAfter });
    }
    sightings.batch = 2;
    for (const _round of [1, 2, 3]) await sightings.look(lease);
    for (const { certificateId } of own)
      expect((await certificate(certificateId)).sightedAt).toBeInstanceOf(Date);
    expect((await certificate(none.certificateId)).sightedAt).toBeNull();
  });

  it('is not reported by a worker that lost its lease', async () => {
    const own = await issued(['frozen.example.com'], 2 * dayMs);
    const outdated = { ...lease, token: String(Number(lease.token) - 1) };
    await expect(sightings.look(outdated)).rejects.toBeInstanceOf(LeaseLost);
    expect((await certificate(own.certificateId)).notLoggedAt).toBeNull();
    expect(await deliveries()).toEqual([]);
    expect(alarms).toEqual([]);
  });
});

describe('an issuance that ended an hour ago', () => {
  const names = ['www.shop.example', 'shop.example'];

  it('with a second certificate in the index is reported once, and its own certificate is not', async () => {
    const own = await issued(names, null);
    await ended(own.issuanceId, 3, 2);
    const key = own.spkiSha256.toString('hex');
    const second = randomBytes(32);
    await logged(names, { tbsSha256: own.tbsSha256.toString('hex'), spkiSha256: key });
    await logged([...names, 'more.shop.example'], { tbsSha256: second.toString('hex'), spkiSha256: key });
    await logged(names, {});
    await logged(['www.shop.example'], { spkiSha256: key });
    await strays.check(lease);
    expect(alarms).toEqual(['ALARM: a certificate with the key of an issuance was logged and not received']);
    expect(reportedWrites).toBe(1);
    // As if the worker had been killed before the issuance was marked, and for another issuance of the key.
    await ended(own.issuanceId, 3, 2);
    restart();
    await strays.check(lease);
    expect(alarms).toEqual([]);
    const facts = { issuanceId: own.issuanceId, tbsSha256: second.toString('hex') };
    expect(await mails()).toEqual([{ problem: 'second-certificate', ...facts }]);
    const [delivery, ...others] = await deliveries();
    expect(others).toEqual([]);
    expect(JSON.parse(delivery?.body ?? '')).toMatchObject({
      problem: 'second_certificate',
      tbs_sha256: facts.tbsSha256,
      dns_names: [...names, 'more.shop.example'],
    });
  });

  it('without a certificate is reported when one was logged', async () => {
    const { planId, termsId } = await core.plan(accountId, ['*.lost.example']);
    const [{ spki }] = await core.database.query<[{ spki: string }]>(
      `SELECT encode(spki_sha256, 'hex') AS spki FROM terms WHERE id = $1`,
      [termsId],
    );
    const [{ id }] = await core.database.query<[{ id: string }]>(
      `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, closed_at, ca_reference)
       VALUES ($1, $2, $3, 1, 'failed', '[]', now(), now(), 'order-1') RETURNING id`,
      [planId, accountId, termsId],
    );
    await ended(id, 3, 0, 'failed');
    await logged(['*.lost.example'], { spkiSha256: spki });
    await strays.check(lease);
    // It ended just now: its certificate may still arrive.
    expect(alarms).toEqual([]);
    await ended(id, 3, 2, 'failed');
    // The index is behind: the certificate may be among what was not read.
    await followedLog(4 * hourMs);
    await strays.check(lease);
    expect(alarms).toEqual([]);
    await followedLog(0);
    await strays.check(lease);
    expect(alarms).toHaveLength(1);
    expect(await mails()).toMatchObject([{ problem: 'not-received', issuanceId: id }]);
  });

  it('is not compared with what was discovered before it, or since the next issuance with its key', async () => {
    const own = await issued(names, null);
    await logged(names, { spkiSha256: own.spkiSha256.toString('hex') });
    await ct.database.query(`UPDATE ct_issuance SET discovered_at = now() - interval '5 hours'`);
    await ended(own.issuanceId, 3, 2);
    await logged(names, { spkiSha256: own.spkiSha256.toString('hex') });
    await core.database.query(
      `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, opened_at)
       SELECT plan_id, account_id, terms_id, 2, 'open', '[]', now(), now() - interval '1 minute' FROM issuance WHERE id = $1`,
      [own.issuanceId],
    );
    await strays.check(lease);
    expect(alarms).toEqual([]);
    const [{ done }] = await core.database.query<[{ done: boolean }]>(
      `SELECT strays_checked AS done FROM issuance WHERE id = $1`,
      [own.issuanceId],
    );
    expect(done).toBe(true);
  });
});

it.each(['before', 'after'] as const)(
  'what is wrong is reported once when a process is killed %s a statement or COMMIT',
  async (when) => {
    let nth = 1;
    for (let isKilled = true; isKilled; nth += 1) {
      await core.database.query(`UPDATE certificate SET sct_at = NULL`);
      await core.database.query(`TRUNCATE webhook_delivery, mail, outbox, stray_certificate CASCADE`);
      const [missing, stray] = [
        await issued(['m.example'], dayMs + hourMs),
        await issued(['s.example'], null),
      ];
      await ended(stray.issuanceId, 3, 2);
      const second = {
        tbsSha256: randomBytes(32).toString('hex'),
        spkiSha256: stray.spkiSha256.toString('hex'),
      };
      await logged(['s.example'], second);
      const failing = new FailingDatabase(asWorker, nth, when);
      for (const database of [failing.source, asWorker]) {
        restart(database);
        try {
          await sightings.look(lease);
          await strays.check(lease);
        } catch (error) {
          if (!failing.struck) throw error;
        }
      }
      isKilled = failing.struck;
      expect({ nth, mails: await mails() }).toEqual({
        nth,
        mails: [
          { problem: 'not-logged', certificateId: missing.certificateId },
          { problem: 'second-certificate', issuanceId: stray.issuanceId, tbsSha256: second.tbsSha256 },
        ],
      });
      expect({ nth, deliveries: (await deliveries()).length }).toEqual({ nth, deliveries: 2 });
    }
    expect(nth).toBeGreaterThan(15);
  },
);

describe('what the index contains', () => {
  const now = Date.parse('2026-11-23T12:00:00Z');
  const log = {
    position: '10',
    headSize: '10',
    headAt: new Date(now - 60_000),
    entryAt: new Date(now - hourMs),
    createdAt: new Date(now - dayMs),
    intervalEnd: null,
    listState: 'usable',
    mmdS: 3_600,
    startIndex: '0',
  };

  it('is limited by the log whose data is the oldest, with its merge delay', () => {
    const backlog = { ...log, headSize: '11', mmdS: 60 };
    expect(coverageOf([log, backlog], now)).toEqual({
      since: log.createdAt,
      readTo: new Date(now - hourMs),
      loggedTo: new Date(now - 60_000 - hourMs),
    });
  });

  it('begins when the newest log that is not read from its first entry was added', () => {
    const since = (startIndex: string) =>
      coverageOf([log, { ...log, startIndex, createdAt: new Date(now) }], now)?.since;
    expect([since('0'), since('7')]).toEqual([log.createdAt, new Date(now)]);
  });

  it('is nothing without a log that accepts certificates', () => {
    expect(coverageOf([], now)).toBeNull();
    expect(coverageOf([{ ...log, intervalEnd: new Date(now - 1) }], now)).toBeNull();
  });
});
