import { Transactions } from '@certwright/core-schema';
import { type FollowedTo, isLagging } from '@certwright/ct';
import { Mails } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { CtDatabase } from '../ct-database/ct-database.module';
import { lockTask, type TaskLease } from '../tasks/task-leases';

/** Accounts of one transaction. */
const maxAccounts = 100;

interface LogRow extends FollowedTo {
  readonly description: string;
  /** By the clock of the ct database, ms since 1970. */
  readonly nowMs: number;
}

/** A weekly mail to accounts that monitor something, although nothing happened: without it, monitoring has stopped. */
@Injectable()
export class Heartbeats {
  constructor(
    private readonly ct: CtDatabase,
    private readonly transactions: Transactions,
    private readonly mails: Mails,
  ) {}

  /** @returns how many accounts got a mail */
  async send(lease: TaskLease): Promise<number> {
    const laggingLogs = await this.laggingLogs();
    let sent = 0;
    for (let due = maxAccounts; due === maxAccounts; sent += due)
      due = await this.sendSome(lease, laggingLogs);
    return sent;
  }

  private async sendSome(lease: TaskLease, laggingLogs: readonly string[]): Promise<number> {
    return await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      // The first week begins when the account is seen for the first time.
      await tx.query(beginStatement);
      const [rows] = await tx.query<[{ id: string; since: Date; until: Date; followedTo: Date }[], number]>(
        dueStatement,
        [maxAccounts],
      );
      for (const { id, since, until, followedTo } of rows) {
        const facts = {
          since: since.toISOString(),
          until: until.toISOString(),
          followedTo: followedTo.toISOString(),
          laggingLogs,
        };
        await this.mails.enqueueToAccount(tx, { accountId: id, kind: 'monitoring-heartbeat', facts });
      }
      return rows.length;
    });
  }

  private async laggingLogs(): Promise<readonly string[]> {
    const logs = await this.ct.query<LogRow[]>(
      `SELECT description, position, head_size AS "headSize", head_at AS "headAt", entry_at AS "entryAt",
         created_at AS "createdAt", interval_end AS "intervalEnd", list_state AS "listState", mmd_s AS "mmdS",
         extract(epoch FROM clock_timestamp())::float8 * 1000 AS "nowMs"
       FROM ct_log WHERE enabled ORDER BY description`,
    );
    return logs.filter((log) => isLagging(log, log.nowMs)).map(({ description }) => description);
  }
}

const wantsHeartbeat = `EXISTS (SELECT 1 FROM monitored_domain WHERE monitored_domain.account_id = account.id AND enabled)
  AND account.disabled_at IS NULL AND coalesce(settings.heartbeat, 'weekly') = 'weekly'`;

const beginStatement = `
  INSERT INTO monitoring_account AS counters (account_id, heartbeat_at)
  SELECT account.id, now()
  FROM account LEFT JOIN monitoring_settings AS settings ON settings.account_id = account.id
  WHERE ${wantsHeartbeat} AND NOT EXISTS (
    SELECT 1 FROM monitoring_account WHERE account_id = account.id AND heartbeat_at IS NOT NULL)
  ORDER BY account.id
  ON CONFLICT (account_id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at WHERE counters.heartbeat_at IS NULL`;

/** Without MATERIALIZED, a nested loop would repeat the limited selection. */
const dueStatement = `
  WITH due AS MATERIALIZED (
    SELECT before.account_id, before.heartbeat_at AS since
    FROM monitoring_account AS before
    JOIN account ON account.id = before.account_id
    LEFT JOIN monitoring_settings AS settings ON settings.account_id = account.id
    WHERE before.heartbeat_at <= now() - interval '7 days' AND ${wantsHeartbeat}
    ORDER BY before.account_id LIMIT $1 FOR UPDATE OF before)
  UPDATE monitoring_account AS counters SET heartbeat_at = now()
  FROM due CROSS JOIN monitoring_follower AS follower
  WHERE counters.account_id = due.account_id
  RETURNING counters.account_id AS id, due.since, counters.heartbeat_at AS until, follower.followed_to AS "followedTo"`;
