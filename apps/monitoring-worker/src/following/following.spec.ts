import { FailingDatabase } from '@certwright/core-testing';
import { watchedNames } from '@certwright/ct-index';
import { createLogger, Metrics, ProcessModule, Readiness, type RunningProcess } from '@certwright/service';
import { LeaseLost } from '@certwright/postgres';
import { eventually } from '@certwright/testing';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SendAlerts } from '../alerts/send-alerts';
import { AppModule } from '../app.module';
import { BackfillTurns } from '../backfill/run-backfills';
import { Config, settings } from '../config';
import { Classifying } from '../findings/classifying';
import { RecordFindings } from '../findings/record-findings';
import { type TaskLease, TaskLeases } from '../tasks/task-leases';
import { certificateFor, sha256, WorkerFixture } from '../testing/worker-fixture';
import { WatchedNames } from '../watched-names/watched-names';
import type { DomainsInMemory } from './domains-in-memory';
import { FollowIndex } from './follow-index';
import { LoadDomains } from './following.module';
import { type ChangeCursor, changesAfter } from './monitoring-changes';

jest.setTimeout(60_000);

let worker: WorkerFixture;
let app: INestApplicationContext;
let closing: (() => Promise<void>)[];
let domains: DomainsInMemory;
let following: TaskLease;
let backfill: TaskLease;
const lines: { readonly level: string; readonly message: unknown }[] = [];

const leaseMs = 600_000;

beforeAll(async () => {
  worker = await WorkerFixture.open();
  await worker.account('1');
  await worker.account('2');
  const config = settings.read({ ...worker.env, LEASE_TIME: '5m' });
  closing = [];
  const log = createLogger('spec', 'fatal');
  for (const level of ['warn', 'error'] as const)
    jest
      .spyOn(log, level)
      .mockImplementation((...line: unknown[]) => void lines.push({ level, message: line }));
  const running: RunningProcess = {
    ...{ name: 'monitoring-worker', log, metrics: new Metrics('spec'), readiness: new Readiness() },
    opened: (_name, close) => void closing.unshift(async () => void (await close())),
  };
  const root = { module: AppModule, imports: [ProcessModule.forRoot(Config, config, running)] };
  app = await NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
  following = await taken('following');
  backfill = await taken('backfill');
  domains = await app.get(LoadDomains, { strict: false }).load(following);
});
afterAll(async () => {
  await app.close();
  for (const close of closing) await close();
  await worker.close();
});
beforeEach(() => void lines.splice(0));

async function taken(task: TaskLease['task']): Promise<TaskLease> {
  const lease = await app.get(TaskLeases, { strict: false }).take(task, leaseMs);
  if (lease === null) throw new Error(`the task ${task} is held`);
  return lease;
}

/** Until nothing more follows. */
async function follow(): Promise<void> {
  const index = app.get(FollowIndex, { strict: false });
  // The last one was read before everything was stored.
  for (let last = 0; last < 2;) last = (await index.step(following, domains)) ? 0 : last + 1;
}

async function runBackfills(): Promise<void> {
  const turns = app.get(BackfillTurns, { strict: false });
  while (await turns.next(backfill));
}

const found = async () =>
  (await worker.findings()).map(({ account, names, source }) => `${account} ${names.join()} ${source}`);

const empty = async () => {
  await worker.core.query('TRUNCATE monitoring_finding, monitoring_backfill, mail, monitored_name');
  await worker.core.query('DELETE FROM monitored_domain');
  for (const [account, name] of [...known]) domains.index.remove(account, name);
  known.length = 0;
};
const known: [string, string][] = [];
const change = async (account: string, name: string, enabled: boolean | null) => {
  known.push([account, name]);
  await worker.change(account, name, enabled);
};
afterEach(empty);

describe('following', () => {
  it('begins at the end of the index, and finds what is new', async () => {
    await worker.log([certificateFor('old.example.com')]);
    await change('1', '.example.com', true);
    await follow();
    expect(await found()).toEqual([]);
    await worker.log([certificateFor('new.example.com'), certificateFor('example.net')]);
    await follow();
    expect(await found()).toEqual(['1 new.example.com stream']);
    await runBackfills();
    expect(await found()).toEqual(['1 old.example.com backfill', '1 new.example.com stream']);
    expect(await worker.backfills()).toMatchObject([{ name: '.example.com', state: 'done', found: 1 }]);
  });

  it('finds a precertificate and its certificate once, and a certificate of another TBSCertificate again', async () => {
    await change('1', '.example.com', true);
    await follow();
    const precertificate = certificateFor('pair.example.com');
    const { serial, spkiSha256 } = precertificate;
    const ofItsOwn = { precertificate: false, certSha256: '07'.repeat(32), body: Buffer.from('certificate') };
    await worker.log([precertificate]);
    await follow();
    expect(await found()).toEqual(['1 pair.example.com stream']);
    // Logged later, in another batch, and twice.
    for (let each = 0; each < 2; each += 1) {
      await worker.log([{ ...precertificate, ...ofItsOwn }]);
      await follow();
    }
    // The certificate before its precertificate.
    const early = certificateFor('early.example.com');
    await worker.log([{ ...early, ...ofItsOwn }]);
    await worker.log([early]);
    await follow();
    expect(await found()).toEqual(['1 pair.example.com stream', '1 early.example.com stream']);
    // Serial number and key of the precertificate, and other names: no CA may issue it, so it is another certificate.
    await worker.log([{ ...certificateFor('pair.example.com', 'evil.example.com'), serial, spkiSha256 }]);
    await follow();
    expect((await found()).slice(2)).toEqual(['1 pair.example.com,evil.example.com stream']);
    await runBackfills();
    expect((await found()).filter((each) => each.endsWith('stream'))).toHaveLength(3);
  });

  it('applies each change before what is read after it, and backfills what it enlarges', async () => {
    await change('1', '.example.org', true);
    await change('1', 'www.example.org', false);
    await follow();
    await worker.log([certificateFor('www.example.org'), certificateFor('a.example.org')]);
    await follow();
    expect(await found()).toEqual(['1 a.example.org stream']);
    await change('1', 'www.example.org', null);
    await change('2', 'a.example.org', true);
    await change('2', 'a.example.org', false);
    await follow();
    await worker.log([certificateFor('www.example.org', 'b.example.org'), certificateFor('a.example.org')]);
    await follow();
    await runBackfills();
    expect((await found()).sort()).toEqual(
      [
        '1 a.example.org stream',
        '1 a.example.org stream',
        '1 www.example.org,b.example.org stream',
        '1 www.example.org backfill',
      ].sort(),
    );
    expect(await worker.backfills()).toMatchObject([
      { name: '.example.org', state: 'done' },
      { name: 'www.example.org', state: 'done', found: 1 },
      { name: 'a.example.org', state: 'canceled', found: 0 },
    ]);
  });

  it('applies the change of a transaction that commits after later ones', async () => {
    const late = worker.core.createQueryRunner();
    await late.startTransaction();
    await late.query(
      `INSERT INTO monitored_domain (account_id, name, enabled) VALUES (1, 'late.example.com', true)`,
    );
    await late.query(
      `INSERT INTO monitoring_change (transaction_id, account_id, object, name, action, after)
       VALUES (pg_current_xact_id()::text::bigint, 1, 'monitored_domain', 'late.example.com', 'created', '{"enabled": true}')`,
    );
    known.push(['1', 'late.example.com']);
    await change('2', 'early.example.com', true);
    await follow();
    await late.commitTransaction();
    await late.release();
    await follow();
    await worker.log([certificateFor('late.example.com'), certificateFor('early.example.com')]);
    await follow();
    expect(await found()).toEqual(['1 late.example.com stream', '2 early.example.com stream']);
    expect(await worker.backfills()).toHaveLength(2);
  });

  it('processes again what a restored index gave to other issuances, and reports the range', async () => {
    await change('1', '.example.com', true);
    await follow();
    const before = await worker.end();
    const lost = certificateFor('lost.example.com');
    await worker.core.query(
      `INSERT INTO monitoring_checkpoint (position, tbs_sha256)
       SELECT position, tbs_sha256 FROM monitoring_follower ON CONFLICT DO NOTHING`,
    );
    await worker.log([lost, certificateFor('a.example.com')]);
    await follow();
    await worker.restoreIndex(before);
    await worker.log([certificateFor('other.example.com'), lost, certificateFor('b.example.com')]);
    await follow();
    expect(lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: [{ alarm: 'index_restored', after_position: before }, expect.stringContaining('ALARM')] },
    ]);
    expect((await found()).sort()).toEqual(
      ['a', 'b', 'lost', 'other'].map((name) => `1 ${name}.example.com stream`),
    );
    // An index without anything new after the cursor is a restored one, too.
    lines.splice(0);
    await worker.restoreIndex(before);
    await follow();
    await worker.log([certificateFor('c.example.com')]);
    await follow();
    expect(await found()).toContain('1 c.example.com stream');
  });

  it('continues after partitions that were dropped because everything in them has expired', async () => {
    await change('1', '.example.com', true);
    await worker.log([certificateFor('d.example.net')]);
    await follow();
    await worker.ct.query(`DELETE FROM ct_issuance`);
    await worker.log([certificateFor('e.example.com')]);
    await follow();
    expect(await found()).toEqual(['1 e.example.com stream']);
    expect(lines).toEqual([]);
  });

  it('searches the bytes of entries that cannot be read, and reports each to the operator', async () => {
    await change('1', '.example.com', true);
    await worker.ct.query(
      `INSERT INTO ct_log (log_id, description, operator, kind, url, key_der, mmd_s, list_state, enabled)
       VALUES (sha256('log'), 'Odd Log', 'Spec', 'static', 'https://log.example/', '', 86400, 'usable', true)`,
    );
    const [odd, other] = [
      Buffer.from('\u0001\u0000 hidden.example.com \u0000'),
      Buffer.from('\u0001 nothing'),
    ];
    for (const [index, leaf] of [odd, other].entries())
      await worker.ct.query(
        `INSERT INTO ct_odd_entry (log, entry_index, fault, leaf, leaf_bytes)
         SELECT id, $1, 'cut_off', $2, $3 FROM ct_log`,
        [index, leaf, leaf.length],
      );
    const index = app.get(FollowIndex, { strict: false });
    for (let round = 0; round < 2; round += 1) {
      index['unreadableAtMs'] = -Infinity;
      await follow();
    }
    const [finding] = await worker.findings();
    expect(finding).toMatchObject({ account: '1', tbs: sha256(odd), names: ['hidden.example.com'] });
    expect(lines.map(({ message }) => message)).toMatchObject(
      [0, 1].map((entry) => [
        { log: 'Odd Log', entry_index: String(entry), fault: 'cut_off' },
        'unreadable log entry',
      ]),
    );
  });

  it('stores nothing for a worker whose lease is over', async () => {
    await change('1', '.example.com', true);
    await follow();
    await worker.log([certificateFor('late.example.com')]);
    await worker.core.query(
      `UPDATE monitoring_task SET lease_token = lease_token + 1 WHERE task = 'following'`,
    );
    await expect(follow()).rejects.toThrow('is lost');
    expect(await found()).toEqual([]);
    await worker.core.query(`UPDATE monitoring_task SET leased_until = NULL WHERE task = 'following'`);
    following = await taken('following');
    await follow();
    expect(await found()).toEqual(['1 late.example.com stream']);
  });

  it('stores a batch that takes longer than the lease, because no other process can take it meanwhile', async () => {
    await change('1', '.example.com', true);
    await follow();
    await worker.log([certificateFor('slow.example.com')]);
    const findings = app.get(RecordFindings, { strict: false });
    const record = findings.record.bind(findings);
    jest.spyOn(findings, 'record').mockImplementationOnce(async (tx, ...batch) => {
      await tx.query(`UPDATE monitoring_task SET leased_until = clock_timestamp() WHERE task = 'following'`);
      return await record(tx, ...batch);
    });
    // After the batch, the lease is over.
    await follow().catch((error: unknown) => expect(error).toBeInstanceOf(LeaseLost));
    expect(await found()).toEqual(['1 slow.example.com stream']);
    following = await taken('following');
    await follow();
    expect(await found()).toEqual(['1 slow.example.com stream']);
  });

  it('applies a change whose transaction ends while newer ones are read page by page', async () => {
    const insert = (from: number, to: number) =>
      `INSERT INTO monitoring_change (transaction_id, account_id, object, name, action, after)
       SELECT pg_current_xact_id()::text::bigint, 2, 'settings', 'n' || n, 'created', '{}' FROM generate_series(${from}, ${to}) AS n`;
    const slow = worker.core.createQueryRunner();
    await slow.startTransaction();
    await slow.query(insert(0, 0));
    await worker.core.query(insert(1, 1_000));
    const [{ xmin }] = await worker.core.query<[{ xmin: string }]>(
      `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xmin`,
    );
    let from: ChangeCursor = { transactionId: String(BigInt(xmin) - 1n), id: '0' };
    const read: string[] = [];
    const next = async (reader: Parameters<typeof changesAfter>[0], open: ReadonlySet<string>) => {
      const found = await changesAfter(reader, from, open);
      from = found.cursor;
      // A transaction elsewhere on the server, such as of autovacuum, lets changes of earlier specs be read again.
      read.push(...found.changes.map(({ name }) => name).filter((name) => /^n\d+$/.test(name)));
      return found.open;
    };
    let open = await next(worker.core, new Set());
    await worker.core.query(insert(1_001, 1_001));
    let pages = 0;
    const committing: Parameters<typeof changesAfter>[0] = {
      query: async <Rows>(statement: string, values?: unknown[]) => {
        if ((pages += 1) === 2) {
          await slow.commitTransaction();
          await slow.release();
        }
        return await worker.core.query<Rows>(statement, values);
      },
    };
    open = await next(committing, open);
    await next(worker.core, open);
    expect(read.toSorted()).toEqual(Array.from({ length: 1_002 }, (_, nth) => `n${nth}`).toSorted());
  });

  it('ignores accounts while they are disabled, and backfills them afterwards', async () => {
    await change('1', 'off.example.com', true);
    await follow();
    await runBackfills();
    const setDisabled = async (at: string) => {
      await worker.core.query(`UPDATE account SET disabled_at = ${at} WHERE id = 1`);
      domains['accountsReadAtMs'] = -Infinity;
      await follow();
    };
    await setDisabled('now()');
    await worker.log([certificateFor('off.example.com')]);
    await follow();
    expect(await found()).toEqual([]);
    await setDisabled('NULL');
    await runBackfills();
    expect(await found()).toEqual(['1 off.example.com backfill']);
  });

  it('backfills accounts that were enabled while no process followed the index', async () => {
    await change('1', 'held.example.com', true);
    await change('1', 'deleted.example.com', true);
    await change('2', 'other.example.com', true);
    await follow();
    await runBackfills();
    const restart = async (disabledAt: string) => {
      await worker.core.query(`UPDATE account SET disabled_at = ${disabledAt} WHERE id = 1`);
      app.get(FollowIndex, { strict: false }).forget();
      domains = await app.get(LoadDomains, { strict: false }).load(following);
      await follow();
      await runBackfills();
    };
    await restart('now()');
    // Something is found for another account, so that the cursor moves.
    await worker.log([certificateFor('held.example.com'), certificateFor('other.example.com')]);
    await restart('now()');
    await change('1', 'deleted.example.com', null);
    expect(await found()).toEqual(['2 other.example.com stream']);
    await restart('NULL');
    expect(await found()).toEqual(['1 held.example.com backfill', '2 other.example.com stream']);
    const states = (await worker.backfills()).map(({ state }) => state);
    expect(states.filter((state) => state === 'waiting')).toEqual([]);
    await worker.log([certificateFor('held.example.com')]);
    await restart('NULL');
    expect(await found()).toEqual([
      '1 held.example.com backfill',
      '1 held.example.com stream',
      '2 other.example.com stream',
    ]);
  });

  it('cancels waiting deliveries of a domain that is deleted or disabled', async () => {
    await worker.core.query(
      `INSERT INTO webhook_endpoint (id, account_id, url, secret_sealed, description, enabled, events)
       VALUES (1, 1, 'https://hooks.example.com/', '', '', true, '{monitoring.*}')`,
    );
    const names = ['deleted', 'disabled', 'kept'].map((label) => `${label}.example.com`);
    for (const name of names) await change('1', name, true);
    await follow();
    await worker.log(names.map((name) => certificateFor(name)));
    await follow();
    await app.get(SendAlerts, { strict: false }).send(await taken('alerts'));
    const states = async () =>
      await worker.core.query(
        `SELECT finding.dns_names[1] AS name, delivery.state FROM webhook_delivery AS delivery
         JOIN monitoring_finding AS finding ON delivery.subject = 'finding:' || encode(finding.tbs_sha256, 'hex')
         ORDER BY name`,
      );
    const pending = names.map((name) => ({ name, state: 'pending' }));
    expect(await states()).toEqual(pending);
    await change('1', 'deleted.example.com', null);
    await change('1', 'disabled.example.com', false);
    await follow();
    expect(await states()).toEqual(
      pending.map((each) => (each.name === 'kept.example.com' ? each : { ...each, state: 'canceled' })),
    );
  });
});

describe('backfills', () => {
  it('serve accounts in turn, page by page, and mail one summary for all domains of an account', async () => {
    const many = Array.from({ length: 1_500 }, (_, nth) => certificateFor(`n${nth}.many.example.net`));
    await worker.log([...many, certificateFor('few.example.net'), certificateFor('more.example.net')]);
    await follow();
    await change('1', '.many.example.net', true);
    await change('1', 'more.example.net', true);
    await follow();
    await change('2', 'few.example.net', true);
    await follow();
    const turns = app.get(BackfillTurns, { strict: false });
    // The list, a page for account 1, and one for account 2.
    for (let step = 0; step < 3; step += 1) await turns.next(backfill);
    expect(await worker.backfills()).toMatchObject([
      { state: 'running', found: 1_000 },
      { state: 'waiting' },
      { state: 'done', found: 1 },
    ]);
    await runBackfills();
    expect((await worker.backfills()).map(({ state, found: count }) => [state, count])).toEqual([
      ['done', 1_500],
      ['done', 1],
      ['done', 1],
    ]);
    const mails = await worker.core.query(`SELECT account_id, kind, facts FROM mail ORDER BY account_id`);
    expect(mails).toEqual([
      {
        ...{ account_id: '1', kind: 'monitoring-backfill' },
        facts: expect.objectContaining({
          others: { domains: 1, found: 1, unknown: 1 },
          indexSince: null,
        }) as object,
      },
      {
        ...{ account_id: '2', kind: 'monitoring-backfill' },
        facts: expect.not.objectContaining({ others: expect.anything() as object }) as object,
      },
    ]);
  });

  it('wait while their account is disabled, also if the follower does not notice that', async () => {
    await worker.log([certificateFor('a.unnoticed.example.net')]);
    await follow();
    await change('1', '.unnoticed.example.net', true);
    await follow();
    await worker.core.query(`UPDATE account SET disabled_at = now() WHERE id = 1`);
    await runBackfills();
    await worker.core.query(`UPDATE account SET disabled_at = NULL WHERE id = 1`);
    await runBackfills();
    expect(await found()).toEqual(['1 a.unnoticed.example.net backfill']);
  });

  it('count and mail what a superseded one found', async () => {
    const many = Array.from({ length: 1_100 }, (_, nth) => certificateFor(`n${nth}.again.example.net`));
    await worker.log(many);
    await follow();
    await change('1', '.again.example.net', true);
    await follow();
    for (let step = 0; step < 2; step += 1) await app.get(BackfillTurns, { strict: false }).next(backfill);
    await change('1', '.again.example.net', false);
    await change('1', '.again.example.net', true);
    await follow();
    await runBackfills();
    expect(await worker.backfills()).toMatchObject([
      { state: 'canceled', found: 1_000 },
      { state: 'done', found: 1_100 },
    ]);
    expect(await worker.core.query(`SELECT kind FROM mail`)).toEqual([{ kind: 'monitoring-backfill' }]);
  });

  it('mail first what was found for a domain that is still monitored', async () => {
    const names = ['a.left.example.net', 'b.left.example.net', 'deleted.example.net'];
    await worker.log(names.map((name) => certificateFor(name)));
    await follow();
    await change('1', 'deleted.example.net', true);
    await change('1', '.left.example.net', true);
    await follow();
    for (let step = 0; step < 2; step += 1) await app.get(BackfillTurns, { strict: false }).next(backfill);
    await worker.core.query(`UPDATE monitoring_backfill SET unknown = 10 WHERE name = 'deleted.example.net'`);
    await change('1', 'deleted.example.net', null);
    await runBackfills();
    const mails = await worker.core.query(
      `SELECT name FROM mail JOIN monitoring_backfill ON change_id = (facts ->> 'backfillId')::bigint`,
    );
    expect(mails).toEqual([{ name: '.left.example.net' }]);
  });

  it('mail first what was found for a name that is no longer excluded, before that of a deleted domain', async () => {
    await worker.log([certificateFor('www.open.example.net'), certificateFor('deleted.example.net')]);
    await change('1', '.open.example.net', true);
    await change('1', 'www.open.example.net', false);
    await follow();
    await runBackfills();
    await change('1', 'deleted.example.net', true);
    await change('1', 'www.open.example.net', null);
    await follow();
    for (let step = 0; step < 2; step += 1) await app.get(BackfillTurns, { strict: false }).next(backfill);
    await worker.core.query(`UPDATE monitoring_backfill SET unknown = 10 WHERE name = 'deleted.example.net'`);
    await change('1', 'deleted.example.net', null);
    await runBackfills();
    const mails = await worker.core.query(
      `SELECT name FROM mail JOIN monitoring_backfill ON change_id = (facts ->> 'backfillId')::bigint`,
    );
    expect(mails).toEqual([{ name: 'www.open.example.net' }]);
  });

  it('are mailed once it is known which of their certificates are unknown', async () => {
    await worker.core.query(
      `INSERT INTO monitoring_settings (account_id, authorized_cas, alert_delay_minutes, certificate_mail, endpoint_mail, digest_hour_utc, heartbeat)
       VALUES (1, '{ca.example.net}', 0, 'at_once', 'at_once', 6, 'weekly')`,
    );
    await worker.log([certificateFor('a.signed.example.net')]);
    await follow();
    await change('1', '.signed.example.net', true);
    await follow();
    await runBackfills();
    expect(await worker.backfills()).toMatchObject([{ state: 'done', found: 1 }]);
    expect(await worker.core.query(`SELECT kind FROM mail`)).toEqual([]);
    await app.get(Classifying, { strict: false }).round(await taken('classifying'));
    await runBackfills();
    const mails = await worker.core.query(
      `SELECT found, unknown FROM mail JOIN monitoring_backfill ON change_id = (facts ->> 'backfillId')::bigint`,
    );
    expect(mails).toEqual([{ found: 1, unknown: 1 }]);
    await worker.core.query(`DELETE FROM monitoring_settings`);
  });

  it('are not mailed while their account is disabled, but afterwards', async () => {
    await worker.log(['a.early.example.net', 'b.late.example.net'].map((name) => certificateFor(name)));
    await follow();
    await change('1', '.early.example.net', true);
    await change('1', '.late.example.net', true);
    await follow();
    for (let step = 0; step < 2; step += 1) await app.get(BackfillTurns, { strict: false }).next(backfill);
    expect(await worker.backfills()).toMatchObject([{ state: 'done' }, { state: 'waiting' }]);
    await worker.core.query(`UPDATE account SET disabled_at = now() WHERE id = 1`);
    await runBackfills();
    expect(await worker.core.query(`SELECT kind FROM mail`)).toEqual([]);
    await worker.core.query(`UPDATE account SET disabled_at = NULL WHERE id = 1`);
    await runBackfills();
    expect(await worker.core.query(`SELECT facts -> 'others' AS others FROM mail`)).toEqual([
      { others: { domains: 1, found: 1, unknown: 1 } },
    ]);
  });

  it('wait for what a copy of the index lacks, and end where the index was restored to', async () => {
    const missing = [certificateFor('a.lag.example.net'), certificateFor('b.lag.example.net')];
    await follow();
    const before = await worker.end();
    await worker.core.query(
      `INSERT INTO monitoring_checkpoint (position, tbs_sha256)
       SELECT position, tbs_sha256 FROM monitoring_follower ON CONFLICT DO NOTHING`,
    );
    await worker.log(missing);
    await follow();
    await change('1', '.lag.example.net', true);
    await follow();
    // As on a server that has not applied the newest commits yet.
    await worker.restoreIndex(before);
    for (let step = 0; step < 3; step += 1) await app.get(BackfillTurns, { strict: false }).next(backfill);
    expect(await worker.backfills()).toMatchObject([{ state: 'running', found: 0, position: before }]);
    await worker.log(missing);
    await runBackfills();
    expect(await found()).toEqual(['1 a.lag.example.net backfill', '1 b.lag.example.net backfill']);
    await worker.core.query(
      `UPDATE monitoring_backfill SET state = 'running', position = 0, finished_at = NULL`,
    );
    await worker.restoreIndex(before);
    await follow();
    await runBackfills();
    expect(await worker.backfills()).toMatchObject([{ state: 'done', position: before }]);
  });
});

describe('the names in the ct database', () => {
  const names = async () =>
    (await worker.ct.query<{ name: string }[]>(`SELECT name FROM ct_watched_name ORDER BY name`)).map(
      ({ name }) => name,
    );

  it('are those of all enabled domains, and are repaired', async () => {
    await worker.ct.query(`DELETE FROM ct_watched_name`);
    await change('1', '.example.com', true);
    await change('2', '.example.com', true);
    await change('2', 'off.example.com', false);
    await follow();
    await eventually(async () => expect(await names()).toEqual(['.example.com']));
    await change('1', '.example.com', null);
    await follow();
    await change('2', '.example.com', false);
    await change('2', 'off.example.com', true);
    await follow();
    await eventually(async () => expect(await names()).toEqual(['off.example.com']));
    await worker.ct.query(`UPDATE ct_watched_name SET name = 'other.example.com'`);
    domains = await app.get(LoadDomains, { strict: false }).load(following);
    await eventually(async () => expect(await names()).toEqual(['off.example.com']));
  });

  it('are not written by a process whose lease is over, and are after the core database was restored', async () => {
    const watched = app.get(WatchedNames, { strict: false });
    await worker.ct.query(`DELETE FROM ct_watched_name`);
    await change('1', 'ours.example.com', true);
    await follow();
    await eventually(async () => expect(await names()).toEqual(['ours.example.com']));
    await watched.beforeApplicationShutdown();
    const addToken = async (count: number) =>
      await worker.core.query(
        `UPDATE monitoring_task SET lease_token = lease_token + $1 WHERE task = 'following'`,
        [count],
      );
    // As another process that took over, and has deleted the name.
    await addToken(1);
    await worker.ct.query(`UPDATE ct_watched_version SET version = ($1::bigint + 1) << 32`, [
      following.token,
    ]);
    await worker.ct.query(`DELETE FROM ct_watched_name`);
    watched.changed(['ours.example.com']);
    await watched.beforeApplicationShutdown();
    expect(await names()).toEqual([]);
    await addToken(-1);
    domains = await app.get(LoadDomains, { strict: false }).load(following);
    await eventually(async () => expect(await names()).toEqual(['ours.example.com']));
  });

  it('are written by a process that took the lease again while a write for the lost one failed', async () => {
    await worker.ct.query(`DELETE FROM ct_watched_name`);
    await change('1', 'again.example.com', true);
    await follow();
    await eventually(async () => expect(await names()).toEqual(['again.example.com']));
    await app.get(WatchedNames, { strict: false }).beforeApplicationShutdown();
    await worker.ct.query(`DELETE FROM ct_watched_name`);
    await worker.ct.query(`UPDATE ct_watched_version SET version = ($1::bigint + 1) << 32`, [
      following.token,
    ]);
    const taken = { ...following, token: String(BigInt(following.token) + 2n) };
    const losing = {
      query: async (...statement: Parameters<typeof worker.core.query>) =>
        await worker.core.query(...statement),
      transaction: async () => {
        watched.follow(domains.index, taken);
        return await Promise.reject(new LeaseLost('monitoring_task', 'following', following.token));
      },
    };
    const running = { log: { warn: () => undefined } } as unknown as RunningProcess;
    const watched = new WatchedNames(worker.ct, losing as unknown as typeof worker.core, running);
    watched.follow(domains.index, following);
    await eventually(async () => expect(await names()).toEqual(['again.example.com']));
    watched.onModuleDestroy();
    await watched.beforeApplicationShutdown();
  });

  it.each(['before', 'after'] as const)(
    'are complete, and their version changes with them, when a process is killed %s a statement or COMMIT',
    async (when) => {
      await worker.ct.query(`DELETE FROM ct_watched_name`);
      await change('1', 'kept.example.com', true);
      await follow();
      await app.get(WatchedNames, { strict: false }).beforeApplicationShutdown();
      const run = async (ct: typeof worker.ct) => {
        const log = { warn: () => watched.onModuleDestroy() };
        const watched = new WatchedNames(ct, worker.core, { log } as unknown as RunningProcess);
        watched.follow(domains.index, following);
        await watched.beforeApplicationShutdown();
        watched.onModuleDestroy();
        return await watchedNames(worker.ct.manager);
      };
      let nth = 1;
      for (let isKilled = true; isKilled; nth += 1) {
        await worker.ct.query(`DELETE FROM ct_watched_name WHERE name = 'kept.example.com'`);
        await worker.ct.query(`INSERT INTO ct_watched_name (name) VALUES ('former.example.com')`);
        const before = await watchedNames(worker.ct.manager);
        const failing = new FailingDatabase(worker.ct, nth, when);
        const killed = await run(failing.source);
        isKilled = failing.struck;
        const after = await run(worker.ct);
        expect({ nth, names: after.names }).toEqual({ nth, names: ['kept.example.com'] });
        // Readers load the names when the version changes.
        const seen = new Set([before, killed, after].map(({ names: all }) => [...all].sort().join()));
        expect({
          nth,
          versions: new Set([before, killed, after].map(({ version }) => version)).size,
        }).toEqual({
          nth,
          versions: seen.size,
        });
      }
      expect(nth).toBeGreaterThan(8);
    },
  );
});
