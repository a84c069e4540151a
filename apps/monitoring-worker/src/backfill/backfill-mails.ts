import type { Tx } from '@certwright/core-schema';
import { Mails } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { CtDatabase } from '../ct-database/ct-database.module';
import { Backfills } from './backfills.repository';

/** Enqueues one summary per account for all backfills that ended since the previous one. */
@Injectable()
export class BackfillMails {
  constructor(
    private readonly ct: CtDatabase,
    private readonly backfills: Backfills,
    private readonly mails: Mails,
  ) {}

  /** Called when a backfill of the account has ended: the last one mails for all. */
  async enqueueDue(tx: Tx, accountId: string): Promise<void> {
    const [first, ...others] = await this.backfills.takeMailDue(tx, accountId);
    if (first === undefined || !(await this.areWanted(tx, accountId))) return;
    const sum = (of: 'found' | 'unknown') => others.reduce((total, each) => total + each[of], 0);
    await this.mails.enqueueToAccount(tx, {
      ...{ accountId, kind: 'monitoring-backfill' },
      facts: {
        backfillId: first.changeId,
        ...(others.length > 0 && {
          others: { domains: others.length, found: sum('found'), unknown: sum('unknown') },
        }),
        indexSince: await this.indexSince(),
      },
    });
  }

  private async areWanted(tx: Tx, accountId: string): Promise<boolean> {
    const off = await tx.query<unknown[]>(
      `SELECT 1 FROM monitoring_settings WHERE account_id = $1 AND certificate_mail = 'off'`,
      [accountId],
    );
    return off.length === 0;
  }

  /** Since when the index has all entries of all logs; null: it has each log from its first entry on. */
  private async indexSince(): Promise<string | null> {
    const [{ since }] = await this.ct.query<[{ since: Date | null }]>(
      `SELECT max(created_at) AS since FROM ct_log WHERE start_index > 0`,
    );
    return since?.toISOString() ?? null;
  }
}
