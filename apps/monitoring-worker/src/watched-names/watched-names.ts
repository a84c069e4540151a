import { setTimeout as delay } from 'node:timers/promises';
import { beginWatchedTerm, changeWatchedNames, watchedNames } from '@certwright/ct-index';
import type { MonitoredDomainIndex } from '@certwright/monitored-domains';
import { LeaseLost } from '@certwright/postgres';
import { RunningProcess } from '@certwright/service';
import { type BeforeApplicationShutdown, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { CtDatabase } from '../ct-database/ct-database.module';
import { lockTask, type TaskLease } from '../tasks/task-leases';

/** Max names in one transaction. */
const batchSize = 5_000;

/** Wait after a write that failed, ms. */
const afterErrorMs = 1_000;

/** How often all names are compared, ms: the ct database may have been restored. */
const repairEveryMs = 10 * 60 * 1_000;

/** Names in core that are compared at once. */
const pageSize = 20_000;

/**
 * Keeps the names of all enabled monitored domains in the ct database, where ct-ingest reads them. It writes beside the
 * matching, which never waits for it.
 */
@Injectable()
export class WatchedNames implements OnModuleDestroy, BeforeApplicationShutdown {
  private index: MonitoredDomainIndex | null = null;
  private lease: TaskLease | null = null;
  /** Fences writes in the ct database, which does not have the lease. */
  private term = '0';
  /** Names that may have to be added or removed. */
  private readonly pending = new Set<string>();
  private isRepairDue = false;
  private repairing: NodeJS.Timeout | undefined;
  private writing: Promise<void> | null = null;
  private readonly stopping = new AbortController();

  constructor(
    private readonly ct: CtDatabase,
    private readonly core: DataSource,
    private readonly running: RunningProcess,
  ) {}

  /** Begins with a comparison of all names. */
  follow(index: MonitoredDomainIndex, lease: TaskLease): void {
    this.leave();
    this.index = index;
    this.lease = lease;
    this.term = lease.token;
    this.repairing = setInterval(() => this.repair(), repairEveryMs).unref();
    this.repair();
  }

  /** Another process writes the names. */
  leave(): void {
    clearInterval(this.repairing);
    this.index = null;
    this.lease = null;
    this.pending.clear();
  }

  private repair(): void {
    this.isRepairDue = true;
    this.begin();
  }

  /** Their monitored domains changed. */
  changed(names: readonly string[]): void {
    for (const name of names) this.pending.add(name);
    this.begin();
  }

  onModuleDestroy(): void {
    clearInterval(this.repairing);
    this.stopping.abort();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.writing;
  }

  private begin(): void {
    this.writing ??= this.writeAll().finally(() => {
      this.writing = null;
      if (this.isDue) this.begin();
    });
  }

  private get isDue(): boolean {
    return (
      this.index !== null && (this.isRepairDue || this.pending.size > 0) && !this.stopping.signal.aborted
    );
  }

  private async writeAll(): Promise<void> {
    const { signal } = this.stopping;
    while (this.isDue && this.index !== null) {
      const { lease } = this;
      try {
        if (this.pending.size > 0) await this.write(this.index);
        else await this.compareAll(this.index);
      } catch (error) {
        // It may have been taken again meanwhile.
        if (error instanceof LeaseLost && this.lease === lease) this.leave();
        this.running.log.warn(
          { err: error, names: this.pending.size },
          'cannot store the monitored names; repeating',
        );
        await delay(afterErrorMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  private async write(index: MonitoredDomainIndex): Promise<void> {
    const names = [...this.pending].slice(0, batchSize);
    for (const name of names) this.pending.delete(name);
    const added = names.filter((name) => index.isEnabled(name));
    const removed = names.filter((name) => !index.isEnabled(name));
    try {
      await this.ct.transaction(async (tx) => {
        await this.beginTerm(tx);
        await changeWatchedNames(tx, { added, removed });
      });
    } catch (error) {
      for (const name of names) this.pending.add(name);
      throw error;
    }
  }

  /** @throws LeaseLost another process writes the names */
  private async beginTerm(tx: EntityManager): Promise<void> {
    for (;;) {
      const later = await beginWatchedTerm(tx, this.term);
      const { lease } = this;
      if (later === null || lease === null) return;
      // With the lease: the core database was restored, and its tokens are smaller than before.
      await this.core.transaction(async (core) => await lockTask(core, lease));
      this.term = later;
    }
  }

  private async compareAll(index: MonitoredDomainIndex): Promise<void> {
    this.isRepairDue = false;
    try {
      // What an earlier term writes was written before the names are read.
      await this.ct.transaction(async (tx) => await this.beginTerm(tx));
      const stored = new Set((await watchedNames(this.ct.manager)).names);
      for (const name of stored) if (!index.isEnabled(name)) this.pending.add(name);
      let last: readonly [account: string, name: string] = ['0', ''];
      for (;;) {
        const page = await this.core.query<{ account: string; name: string }[]>(
          `SELECT account_id AS account, name FROM monitored_domain
           WHERE enabled AND (account_id, name) > ($1, $2) ORDER BY account_id, name LIMIT ${pageSize}`,
          [...last],
        );
        for (const { name } of page) if (!stored.has(name) && index.isEnabled(name)) this.pending.add(name);
        const end = page.at(-1);
        if (end === undefined || page.length < pageSize) return;
        last = [end.account, end.name];
      }
    } catch (error) {
      this.isRepairDue = true;
      throw error;
    }
  }
}
