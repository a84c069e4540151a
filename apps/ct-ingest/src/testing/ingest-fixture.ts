import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readLogList } from '@certwright/ct';
import { ctDataSource, type CtLogEntity } from '@certwright/ct-schema';
import { ctTestDatabase } from '@certwright/ct-testing';
import { CtLogs } from '../logs/ct-logs';
import { AddressGuard } from '@certwright/outbound';
import type { DataSource } from 'typeorm';
import type { EntryOutcome } from '../following/batch';
import { FollowLog, type FollowOptions } from '../following/follow-log';
import { LogApis } from '../following/log-apis';
import { readStart } from '../following/start-point';
import type { LogMisbehaves, LogUnproven } from '../log-api/log-faults';
import { followedLogs, WantedLogs } from '../log-list/followed-logs';
import { perLog } from '../log-list/per-log';
import { type MemoryShares, memoryShares } from '../memory/memory-shares';
import { asTheyAre } from '../packing/body-packer';
import { everything, type IndexedScope } from '../reading/indexed-scope';
import { Issuers } from '../reading/issuers';
import { RecentIssuances } from '../reading/recent-issuances';
import { FakeLog, type FakeLogKind } from './fake-log';
import { forgeMany } from './forged-entries';

export interface FollowerOptions {
  readonly start?: string;
  readonly parallel?: number;
  readonly pageSize?: number;
  readonly requestsPerSecond?: number;
  readonly shares?: Partial<MemoryShares>;
  readonly scope?: IndexedScope;
  readonly leaseMs?: number;
  readonly turnMs?: number;
  readonly timeoutMs?: number;
  readonly minResponseRate?: number;
  readonly stalePatienceMs?: number;
  readonly now?: () => number;
  readonly logs?: CtLogs;
}

/** A separate database, and any number of followers, each like a separate process. */
export class IngestFixture {
  readonly stopped: LogMisbehaves[] = [];
  readonly unproven: LogUnproven[] = [];
  readonly unavailable: { readonly message: string; readonly restMs: number }[] = [];
  readonly failed: unknown[] = [];
  readonly outcomes: Partial<Record<EntryOutcome, number>> = {};
  leasesLost = 0;
  restored = 0;
  private readonly opened: FakeLog[] = [];

  private constructor(
    /** Connection of the spec, with all privileges. */
    readonly database: DataSource,
    /** Connection of the process, with the grants of its role. */
    readonly asIngest: DataSource,
    readonly roleUrl: string,
    readonly logs: CtLogs,
    readonly folder: string,
    readonly close: () => Promise<void>,
  ) {}

  static async open(): Promise<IngestFixture> {
    const { url, urlOf, dispose } = await ctTestDatabase();
    const settings = { applicationName: 'spec', poolSize: 8, statementTimeoutMs: 30_000 };
    const database = await ctDataSource({ url, ...settings }).initialize();
    const roleUrl = urlOf('ct-ingest');
    const asIngest = await ctDataSource({ url: roleUrl, ...settings }).initialize();
    const folder = mkdtempSync(path.join(tmpdir(), 'ct-ingest-'));
    const close = async () => {
      await Promise.all([database.destroy(), asIngest.destroy()]);
      await dispose();
      rmSync(folder, { recursive: true });
    };
    return new IngestFixture(database, asIngest, roleUrl, new CtLogs(asIngest), folder, close);
  }

  /** A log with entries, which is followed like those opened before. `empty` closes it. */
  async openLog(kind: FakeLogKind, entries: number, from = 0): Promise<FakeLog> {
    const log = await FakeLog.open(kind, forgeMany(entries, from));
    this.opened.push(log);
    await this.keep(...this.opened);
    return log;
  }

  /** Closes logs that it has opened, and deletes all logs and issuances. Row by row: there are few rows, and TRUNCATE would rewrite dozens of partitions. */
  async empty(): Promise<void> {
    await Promise.all(this.opened.splice(0).map(async (log) => await log.close()));
    for (const table of [
      'ct_log_evidence',
      'ct_unverified',
      'ct_vouched',
      'ct_odd_entry',
      'ct_log',
      'ct_issuance',
      'ct_run',
      'ct_block',
      'ct_known',
    ])
      await this.database.query(`DELETE FROM ${table}`);
    this.unproven.length = this.stopped.length = this.unavailable.length = this.failed.length = 0;
    for (const outcome of Object.keys(this.outcomes)) delete this.outcomes[outcome as EntryOutcome];
  }

  /** The content of LOG_LIST. */
  list(...logs: readonly FakeLog[]): object {
    const of = (kind: FakeLog['kind']) => logs.filter((log) => log.kind === kind).map((log) => log.listed());
    return { operators: [{ name: 'Spec', logs: of('rfc6962'), tiled_logs: of('static') }] };
  }

  file(name: string, content: string): string {
    const file = path.join(this.folder, name);
    writeFileSync(file, content);
    return file;
  }

  async keep(...logs: readonly FakeLog[]): Promise<void> {
    const list = readLogList(this.list(...logs));
    if (list === null) throw new Error('no list');
    await this.logs.keep(followedLogs(list, new WantedLogs(['usable']), new Set(), Date.now()));
  }

  follower(overrides: FollowerOptions = {}): FollowLog {
    const usual = <T>(value: T) => perLog(['x'], () => value) ?? { of: () => value };
    const start = perLog([overrides.start ?? 'beginning'], readStart);
    if (start === null) throw new Error('no start');
    const shares = { ...memoryShares(512, 16), ...overrides.shares };
    const apis = new LogApis({
      guard: new AddressGuard({ allowedNetworks: ['127.0.0.0/8'] }),
      userAgent: 'spec',
      timeoutMs: overrides.timeoutMs ?? 20_000,
      requestsPerSecond: usual(overrides.requestsPerSecond ?? 10_000),
      pageSize: overrides.pageSize ?? 100,
      minResponseRate: overrides.minResponseRate ?? 1,
      shares,
      now: Date.now,
    });
    const options: FollowOptions = {
      logs: overrides.logs ?? this.logs,
      apiOf: (log) => apis.of(log),
      reading: {
        issuers: new Issuers(),
        recent: new RecentIssuances(1_000),
        scope: overrides.scope ?? everything,
        now: overrides.now ?? Date.now,
      },
      packer: asTheyAre,
      maxBatch: shares.batch,
      events: {
        began: () => undefined,
        ingested: (_, outcomes) => this.count(outcomes),
        verified: () => undefined,
        unavailable: (_, message, restMs) => void this.unavailable.push({ message, restMs }),
        unproven: (_, fault) => void this.unproven.push(fault),
        stopped: (_, fault) => void this.stopped.push(fault),
        leaseLost: () => void (this.leasesLost += 1),
        restored: () => void (this.restored += 1),
        failed: (_, error) => void this.failed.push(error),
      },
      start,
      parallel: usual(overrides.parallel ?? 4),
      leaseMs: overrides.leaseMs ?? 60_000,
      turnMs: overrides.turnMs ?? 60_000,
      pollIntervalMs: 0,
      stalePatienceMs: overrides.stalePatienceMs ?? 60_000,
      random: Math.random,
    };
    return new FollowLog(options);
  }

  /** Runs one turn of the log that is due first. */
  async turn(follower: FollowLog, stopping = new AbortController().signal): Promise<CtLogEntity> {
    await this.database.query(`UPDATE ct_log SET due_at = due_at - interval '1 day'`);
    const leased = await this.logs.lease(60_000);
    if (leased === null) throw new Error('no log is due');
    await follower.turn(leased, stopping);
    if (this.failed.length > 0) throw this.failed[0];
    return await this.log(leased.log.id);
  }

  async log(id?: number): Promise<CtLogEntity> {
    const log = (await this.logs.all()).find((each) => id === undefined || each.id === id);
    if (log === undefined) throw new Error('no such log');
    return log;
  }

  async rows(table: 'ct_issuance' | 'ct_odd_entry'): Promise<number> {
    const [row] = await this.database.query<[{ n: number }]>(`SELECT count(*)::int AS n FROM ${table}`);
    return row.n;
  }

  private count(outcomes: Readonly<Record<EntryOutcome, number>>): void {
    for (const [outcome, count] of Object.entries(outcomes) as [EntryOutcome, number][])
      this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + count;
  }
}
