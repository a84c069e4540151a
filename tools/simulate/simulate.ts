import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { coreDataSource } from '@certwright/core-schema';
import { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { audit } from './audit/audit';
import { Observations } from './audit/observations';
import { Chance } from './chance';
import { DrivenClock } from './clock/driven-clock';
import {
  calmMs,
  drawFaultWindows,
  type FaultWindows,
  isWithin,
  noFaults,
  type SimulatedTime,
} from './faults/fault-windows';
import type { ConnectionBreak } from './faults/broken-connections';
import { openAuthority, Platform } from './platform/platform';
import { openProcesses, type Outside } from './platform/processes';
import type { Report } from './report';
import { type Sabotage, Saboteur } from './sabotage';
import { type SimulatedAccount, makeAccounts } from './users/accounts';
import { Client } from './users/client';
import { planActions } from './users/user-actions';
import type { OrderKind } from './users/order';
import { priceCents, Users } from './users/users';
import { FaultyAuthority } from './world/faulty-authority';
import { MailServer } from './world/mail-server';
import { StandingRecords } from './world/standing-records';
import { WebhookReceivers } from './world/webhook-receivers';

export interface SimulationOptions {
  /** A migrated database that no other process uses. */
  readonly databaseUrl: string;
  /** URL of the database for the role of a process; default: processes connect as the owner. */
  readonly urlOf?: (process: string) => string;
  readonly orders: number;
  readonly days: number;
  readonly seed: string;
  readonly faults: 'none' | 'default';
  /** Size of a step of the clock; work that is due in between is done at its end. Divides a day. */
  readonly stepHours: number;
  /** How often users act; 1: the rates in user-actions.ts. */
  readonly activity: number;
  /** Defects to plant. */
  readonly sabotage: readonly Sabotage[];
  readonly onProgress: (line: string) => void;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const startMs = Date.parse('2027-01-01T00:00:00Z');

/** Probabilities, per job or run. */
const probabilities = {
  none: { lost: 0, doubled: 0, freezing: 0, broken: 0 },
  default: { lost: 0.01, doubled: 0.01, freezing: 0.002, broken: 0.005 },
};

/** A connection breaks within this number of statements; some jobs execute as many. */
const maxStatements = 14;

export async function simulate(options: SimulationOptions): Promise<Report> {
  const clock = await DrivenClock.start(options.databaseUrl, new Date(startMs));
  const auditor = new Pool({ connectionString: options.databaseUrl, max: 4 });
  const keyFolder = mkdtempSync(path.join(tmpdir(), 'certwright-simulate-'));
  const operator = await coreDataSource({
    url: options.databaseUrl,
    applicationName: 'operator',
    poolSize: 2,
    statementTimeoutMs: 60_000,
  }).initialize();
  const outside: Outside = {};
  const processes = await openProcesses(options.urlOf ?? (() => options.databaseUrl), outside);
  try {
    await setUpProducts(auditor);
    return await run(options, { clock, auditor, operator, keyFolder, processes, outside });
  } finally {
    await processes.close();
    await Promise.all([auditor.end(), operator.destroy()]);
    await clock.stop();
    rmSync(keyFolder, { recursive: true });
  }
}

/** Short lifetimes of certificates, and short terms, so that several pass in a year. */
async function setUpProducts(database: Pool): Promise<void> {
  await database.query(
    `UPDATE product SET certificate_authority = 'built-in', lifetime_days = 90, available = true,
       term_days = CASE name WHEN 'paid_ca' THEN 180 END,
       price_cents = CASE name WHEN 'paid_ca' THEN $1::int ELSE 0 END
     WHERE name IN ('free_ca', 'paid_ca')`,
    [priceCents],
  );
}

interface Opened {
  readonly clock: DrivenClock;
  readonly auditor: Pool;
  readonly operator: DataSource;
  readonly keyFolder: string;
  readonly processes: Awaited<ReturnType<typeof openProcesses>>;
  readonly outside: Outside;
}

async function run(
  options: SimulationOptions,
  { clock, auditor, operator, keyFolder, processes, outside }: Opened,
): Promise<Report> {
  const began = performance.now();
  const stepMs = options.stepHours * hourMs;
  const time: SimulatedTime = { startMs, endMs: startMs + options.days * dayMs };
  const chance = new Chance(options.seed);
  const nowMs = () => clock.now().getTime();
  const accounts = await makeAccounts(
    auditor,
    processes.orders,
    Math.max(3, Math.round(options.orders / 50)),
  );
  const windows = options.faults === 'none' ? noFaults : drawFaultWindows(chance, time, idsOf(accounts));
  // No faults at the very end, so that unfinished work is a violation.
  const likely = () => probabilities[nowMs() < time.endMs - calmMs / 4 ? options.faults : 'none'];
  const connectionBreak = (what: string): ConnectionBreak | null =>
    connectionBreakAt(chance, windows, nowMs(), likely().broken, what);

  const authority = new FaultyAuthority(await openAuthority(processes, operator, keyFolder), {
    ...{ chance, nowMs, freezing: () => likely().freezing },
    isDown: () => isWithin(windows.authority, nowMs()),
  });
  const records = new StandingRecords();
  const mailServer = new MailServer(auditor, () => isWithin(windows.mailServer, nowMs()), nowMs);
  const receivers = new WebhookReceivers(
    auditor,
    {
      ...{ chance, freezing: () => likely().freezing },
      isDead: (accountId) => isWithin(windows.endpoints.get(accountId) ?? [], nowMs()),
    },
    nowMs,
  );
  const platform = new Platform(processes, {
    chance,
    connectionBreak,
    nowMs,
    lost: () => likely().lost,
    doubled: () => likely().doubled,
  });
  Object.assign(outside, {
    queues: platform.jobs,
    authority,
    approver: records.approver(),
    mailServer,
    receivers,
  } satisfies Outside);
  const client = new Client(connectionBreak);
  const kinds = Array.from({ length: options.orders }, (_, order) => kindOf(chance, order));
  const users = new Users({ processes, operator, client, records, auditor, chance, nowMs }, accounts, kinds);
  mailServer.onMail = (mail) => users.onMail(mail);
  await users.payInAtFirst();
  const observations = new Observations(auditor, stepMs);
  const saboteur = new Saboteur(auditor, options.sabotage, time);

  const actions = planActions(chance, time, kinds, options.activity);
  let next = 0;
  for (let at = startMs; at <= time.endMs; at += stepMs) {
    await clock.set(new Date(at));
    if (!isWithin(windows.database, at)) {
      await users.payDebts();
      for (let action = actions[next]; action !== undefined && action.atMs <= at; action = actions[next]) {
        await users.do(action);
        next += 1;
      }
    }
    await saboteur.plant(at);
    const isIdle = isWithin(windows.workers, at) || isWithin(windows.database, at);
    if (!isWithin(windows.workers, at)) await platform.instant();
    await observations.look(at, isIdle);
    if ((at - startMs) % (10 * dayMs) === 0) {
      const day = (at - startMs) / dayMs;
      options.onProgress(
        `day ${day} of ${options.days}: ${users.orders.length} orders, ${authority.issued.size} certificates, ${Math.round((performance.now() - began) / 1_000)} s`,
      );
    }
  }
  const orders = users.orders.filter((order) => order !== undefined);
  const findings = await audit({
    ...{ auditor, time, stepMs, windows, accounts, orders, observations, authority },
    ...{ mails: mailServer.taken, messages: receivers.received },
  });
  const { seed, days, faults, stepHours, activity, sabotage } = options;
  const { jobs, roundsFailed } = platform;
  return {
    ...{
      seed,
      days,
      faults,
      stepHours,
      activity,
      sabotage,
      windows,
      orders: options.orders,
      planted: [...saboteur.planted],
    },
    tookS: Math.round((performance.now() - began) / 1_000),
    counts: {
      'user actions': users.counts.actions,
      'requests to the APIs': client.counts.requests,
      'requests repeated': client.counts.repeated,
      'certificates issued': findings.checked.certificates,
      'certificates revoked': authority.revoked.size,
      'mails sent': mailServer.taken.length,
      'webhook messages received': receivers.received.length,
      'jobs run': jobs.counts.run,
      'jobs lost': jobs.counts.lost,
      'jobs run twice': jobs.counts.doubled,
      'workers frozen in a job': jobs.frozen.count,
      'broken connections': jobs.counts.broken + client.counts.broken,
      'periodic tasks failed': roundsFailed,
    },
    checked: findings.checked,
    violations: findings.violations,
    histories: findings.histories,
  };
}

const idsOf = (accounts: readonly SimulatedAccount[]) => accounts.map(({ id }) => id);

function kindOf(chance: Chance, order: number): OrderKind {
  const drawn = chance.of('kind', order);
  return drawn < 0.75 ? 'v3' : drawn < 0.88 ? 'v3-paid' : 'v2';
}

function connectionBreakAt(
  chance: Chance,
  windows: FaultWindows,
  at: number,
  probability: number,
  what: string,
): ConnectionBreak | null {
  if (isWithin(windows.database, at)) return { nth: 1, when: 'before' };
  if (!chance.happens(probability, 'struck', what)) return null;
  const nth = 1 + Math.floor(chance.between(0, maxStatements, 'struck', what, 'nth'));
  return { nth, when: chance.happens(0.5, 'struck', what, 'when') ? 'before' : 'after' };
}
