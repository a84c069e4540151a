import { FailingDatabase } from '@certwright/core-testing';
import { createLogger, Metrics, ProcessModule, Readiness, type RunningProcess } from '@certwright/service';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { SendAlerts } from './alerts/send-alerts';
import { AppModule } from './app.module';
import { BackfillTurns } from './backfill/run-backfills';
import { Config, settings } from './config';
import { Classifying } from './findings/classifying';
import { FollowIndex } from './following/follow-index';
import { LoadDomains } from './following/following.module';
import { CertificateMails } from './mails/certificate-mails';
import { type TaskLease, TaskLeases } from './tasks/task-leases';
import { certificateFor, WorkerFixture } from './testing/worker-fixture';

jest.setTimeout(120_000);

const tasks = ['following', 'backfill', 'classifying', 'alerts', 'mail'] as const;
const leaseMs = 600_000;

let worker: WorkerFixture;
let app: INestApplicationContext;
let database: DataSource;
let leases: Readonly<Record<(typeof tasks)[number], TaskLease>>;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  worker = await WorkerFixture.open();
  const running: RunningProcess = {
    ...{ name: 'monitoring-worker', log: createLogger('spec', 'fatal') },
    ...{ metrics: new Metrics('spec'), readiness: new Readiness() },
    opened: (_name, close) => void closing.unshift(async () => void (await close())),
  };
  const config = settings.read({ ...worker.env, LEASE_TIME: '5m' });
  const root = { module: AppModule, imports: [ProcessModule.forRoot(Config, config, running)] };
  app = await NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
  database = app.get(DataSource, { strict: false });
  const taken = await Promise.all(
    tasks.map(async (task) => [task, await app.get(TaskLeases, { strict: false }).take(task, leaseMs)]),
  );
  leases = Object.fromEntries(taken) as typeof leases;
  await app.get(FollowIndex, { strict: false }).step(leases.following, await loaded());
});
afterAll(async () => {
  await app.close();
  for (const close of closing) await close();
  await worker.close();
});

const loaded = async () => await app.get(LoadDomains, { strict: false }).load(leases.following);

/** Everything from the index to the deliveries and mails, as a process does it that has just started. */
async function work(): Promise<void> {
  app.get(FollowIndex, { strict: false }).forget();
  app.get(BackfillTurns, { strict: false }).forget();
  const domains = await loaded();
  while (await app.get(FollowIndex, { strict: false }).step(leases.following, domains));
  while (await app.get(BackfillTurns, { strict: false }).next(leases.backfill));
  await app.get(Classifying, { strict: false }).round(leases.classifying);
  while ((await app.get(SendAlerts, { strict: false }).send(leases.alerts)) > 0);
  await app.get(CertificateMails, { strict: false }).send(leases.mail);
}

/** The connection breaks while the process does it. @returns whether it did */
async function workOver(failing: FailingDatabase): Promise<boolean> {
  const { query, transaction } = failing.source;
  const broken = [jest.spyOn(database, 'query'), jest.spyOn(database, 'transaction')] as const;
  broken[0].mockImplementation(query.bind(failing.source));
  broken[1].mockImplementation(transaction.bind(failing.source) as never);
  try {
    await work();
  } catch (error) {
    if (!failing.struck) throw error;
  } finally {
    for (const each of broken) each.mockRestore();
  }
  return failing.struck;
}

/** Many at once, as each time everything is processed. */
const arrangedTogether = 50;
const arranged: string[] = [];
let accounts = 0;

/** Accounts with a webhook, which monitor a domain; the index has a certificate of another one. */
async function arrange(): Promise<void> {
  for (let nth = 0; nth < arrangedTogether; nth += 1) {
    const id = String((accounts += 1));
    await worker.account(id);
    await worker.core.query(
      `INSERT INTO webhook_endpoint (id, account_id, url, secret_sealed, description, enabled, events)
       VALUES ($1, $1, 'https://hooks.example.com/', '', '', true, '{monitoring.*}')`,
      [id],
    );
    await worker.change(id, `.a${id}.example.com`, true);
    arranged.push(id);
  }
  await worker.log(arranged.map((id) => certificateFor(`old.b${id}.example.com`)));
  await work();
}

/** The index gets two certificates of the domain, and the account adds the other one. */
async function changedAccount() {
  if (arranged.length === 0) await arrange();
  const id = arranged.shift() ?? '';
  const certificates = ['x', 'y'].map((label) => certificateFor(`${label}.a${id}.example.com`));
  await worker.log(certificates);
  await worker.change(id, `.b${id}.example.com`, true);
  return { id, expected: certificates.map(({ tbsSha256 }) => tbsSha256).sort() };
}

/** What the account has, and what is sent to it. */
async function resultOf(id: string) {
  const [sent] = await worker.core.query<[Record<string, readonly string[]>]>(
    `SELECT
       (SELECT array_agg(source ORDER BY source) FROM monitoring_finding WHERE account_id = $1) AS findings,
       (SELECT array_agg(substr(subject, 9) ORDER BY subject) FROM webhook_delivery
        WHERE account_id = $1 AND event = 'monitoring.unknown_certificate') AS deliveries,
       (SELECT array_agg(tbs ORDER BY tbs) FROM mail, jsonb_array_elements_text(facts->'tbsSha256') AS tbs
        WHERE account_id = $1 AND kind = 'monitoring-certificates') AS mailed,
       (SELECT array_agg(kind ORDER BY kind) FROM mail WHERE account_id = $1) AS mails,
       (SELECT array_agg(state) FROM monitoring_backfill WHERE account_id = $1) AS backfills`,
    [id],
  );
  return sent;
}

it.each(['before', 'after'] as const)(
  'finds, alerts and mails each certificate once when the connection breaks %s a statement or COMMIT',
  async (when) => {
    let nth = 1;
    for (; ; nth += 1) {
      const { id, expected } = await changedAccount();
      const isBroken = await workOver(new FailingDatabase(database, nth, when));
      await work();
      expect({ nth, ...(await resultOf(id)) }).toEqual({
        nth,
        findings: ['backfill', 'stream', 'stream'],
        deliveries: expected,
        mailed: expected,
        mails: ['monitoring-backfill', 'monitoring-certificates'],
        backfills: ['done', 'done'],
      });
      if (!isBroken) break;
    }
    expect(nth).toBeGreaterThan(40);
  },
);
