import { Transactions } from '@certwright/core-schema';
import { newestOddEntries, oddEntriesAfter } from '@certwright/ct-index';
import type { MonitoredDomainIndex } from '@certwright/monitored-domains';
import { Inject, Injectable } from '@nestjs/common';
import { CtDatabase } from '../ct-database/ct-database.module';
import { type ConcernedIssuance, RecordFindings } from '../findings/record-findings';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { FollowEvents } from './follow-events';
import { matchUnreadable } from './matching';
import { type UnreadableCursor, UnreadableCursors } from './unreadable-cursors.repository';

/** Max entries in one transaction. */
const pageSize = 100;

interface LogName {
  readonly id: number;
  readonly logId: Buffer;
  readonly description: string;
}

/** Follows the entries of logs that could not be read as certificates: their bytes are searched for monitored domains. */
@Injectable()
export class UnreadableEntries {
  constructor(
    private readonly ct: CtDatabase,
    private readonly cursors: UnreadableCursors,
    private readonly transactions: Transactions,
    private readonly findings: RecordFindings,
    @Inject(FollowEvents) private readonly events: FollowEvents,
  ) {}

  /** Where following begins: a log that comes later begins with its first entry. */
  async newest(): Promise<readonly UnreadableCursor[]> {
    const newest = await newestOddEntries(this.ct.manager);
    const logs = await this.logs(newest.map(({ log }) => log));
    return newest.flatMap(({ log, entryIndex }) => {
      const logId = logs.get(log)?.logId;
      return logId === undefined ? [] : [{ logId, entryIndex }];
    });
  }

  /** Matches what is new, one page per log. @throws LeaseLost */
  async follow(lease: TaskLease, index: MonitoredDomainIndex): Promise<void> {
    const newest = await newestOddEntries(this.ct.manager);
    if (newest.length === 0) return;
    const logs = await this.logs(newest.map(({ log }) => log));
    const cursors = await this.cursors.all();
    for (const { log: id, entryIndex } of newest) {
      const log = logs.get(id);
      if (log === undefined) continue;
      const after = cursors.get(log.logId.toString('hex')) ?? '-1';
      if (BigInt(entryIndex) > BigInt(after)) await this.followLog(lease, index, log, after);
    }
  }

  private async followLog(
    lease: TaskLease,
    index: MonitoredDomainIndex,
    { id, logId, description }: LogName,
    after: string,
  ): Promise<void> {
    const entries = await oddEntriesAfter(this.ct.manager, id, after, pageSize);
    const now = new Date();
    const matched = entries.map((entry) => ({ entry, concerned: matchUnreadable(index, entry, now) }));
    const entryIndex = entries.at(-1)?.entryIndex;
    if (entryIndex === undefined) return;
    const concerned = matched
      .map((each) => each.concerned)
      .filter((each): each is ConcernedIssuance => each !== null);
    await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      await this.cursors.store(tx, [{ logId, entryIndex }]);
      if (concerned.length > 0) await this.findings.record(tx, concerned, 'stream', null);
    });
    for (const each of matched)
      this.events.unreadable(description, each.entry, each.concerned?.accounts.length ?? 0);
  }

  private async logs(ids: readonly number[]): Promise<ReadonlyMap<number, LogName>> {
    if (ids.length === 0) return new Map();
    const rows = await this.ct.query<LogName[]>(
      `SELECT id, log_id AS "logId", description FROM ct_log WHERE id = ANY ($1::int[])`,
      [ids],
    );
    return new Map(rows.map((row) => [row.id, row]));
  }
}
