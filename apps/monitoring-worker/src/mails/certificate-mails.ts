import { Transactions, type Tx } from '@certwright/core-schema';
import { Mails, maxCertificatesInMail } from '@certwright/delivery';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { gatheringMinutes, isMonitored } from '../alerts/due-alerts.repository';
import { LeasedRounds } from '../tasks/leased-rounds';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { Heartbeats } from './heartbeats';

/** Accounts of one round. */
const maxAccounts = 100;

/** Wait between rounds without work, ms. */
const pollMs = 1_000;

/** Rounds between checks of heartbeats. */
const roundsPerHeartbeat = 300;

interface DueAccount {
  readonly mode: 'at_once' | 'digest' | 'off';
  /** A mail was sent less than `gatheringMinutes` before this one was due. */
  readonly isGathered: boolean;
}

/** Mails to accounts about unknown certificates: each certificate once. */
@Injectable()
export class CertificateMails implements OnModuleInit {
  private count = 0;

  constructor(
    private readonly rounds: LeasedRounds,
    private readonly database: DataSource,
    private readonly transactions: Transactions,
    private readonly mails: Mails,
    private readonly heartbeats: Heartbeats,
  ) {}

  onModuleInit(): void {
    this.rounds.add('mail', async (lease) => {
      if (this.count % roundsPerHeartbeat === 0) await this.heartbeats.send(lease);
      this.count += 1;
      return (await this.send(lease)) === maxAccounts ? 0 : pollMs;
    });
  }

  /** @returns for how many accounts something was due */
  async send(lease: TaskLease): Promise<number> {
    const accounts = await this.database.query<{ id: string }[]>(
      `SELECT account_id AS id FROM monitoring_account WHERE mail_due_at <= now() ORDER BY mail_due_at LIMIT $1`,
      [maxAccounts],
    );
    for (const { id } of accounts) {
      await this.transactions.run(async (tx) => {
        await lockTask(tx, lease);
        await this.sendTo(tx, id);
      });
    }
    return accounts.length;
  }

  private async sendTo(tx: Tx, accountId: string): Promise<void> {
    const [due] = await tx.query<DueAccount[]>(
      `SELECT coalesce(settings.certificate_mail, 'at_once') AS mode,
         coalesce(mail_due_at <= mailed_at + $2::int * interval '1 minute', false) AS "isGathered"
       FROM monitoring_account AS counters
       LEFT JOIN monitoring_settings AS settings ON settings.account_id = counters.account_id
       WHERE counters.account_id = $1 AND mail_due_at <= now() FOR UPDATE OF counters`,
      [accountId, gatheringMinutes],
    );
    if (due === undefined) return;
    // Those that are no longer unknown or monitored, or whose account wants no mail, are not mailed later either.
    await tx.query(
      `UPDATE monitoring_finding AS finding SET mail_due = false
       WHERE account_id = $1 AND mail_due AND (state <> 'unknown' OR $2 = 'off' OR NOT ${isMonitored})`,
      [accountId, due.mode],
    );
    const [rows] = await tx.query<[{ tbs: string }[], number]>(
      // Without MATERIALIZED, a nested loop would repeat the limited selection.
      `WITH oldest AS MATERIALIZED (
         SELECT tbs_sha256 FROM monitoring_finding WHERE account_id = $1 AND mail_due
         ORDER BY found_at, tbs_sha256 LIMIT $2 FOR UPDATE)
       UPDATE monitoring_finding AS finding SET mail_due = false
       FROM oldest WHERE finding.account_id = $1 AND finding.tbs_sha256 = oldest.tbs_sha256
       RETURNING encode(finding.tbs_sha256, 'hex') AS tbs`,
      [accountId, maxCertificatesInMail],
    );
    if (rows.length > 0) {
      const occasion = due.mode === 'digest' ? 'digest' : due.isGathered ? 'gathered' : 'at-once';
      const tbsSha256 = rows.map(({ tbs }) => tbs);
      const facts = { tbsSha256, occasion } as const;
      await this.mails.enqueueToAccount(tx, { accountId, kind: 'monitoring-certificates', facts });
    }
    await tx.query(
      `UPDATE monitoring_account
       SET mailed_at = CASE WHEN $2 THEN now() ELSE mailed_at END,
         mail_due_at = CASE WHEN EXISTS (SELECT 1 FROM monitoring_finding WHERE account_id = $1 AND mail_due)
           THEN now() + $3::int * interval '1 minute' END
       WHERE account_id = $1`,
      [accountId, rows.length > 0, gatheringMinutes],
    );
  }
}
