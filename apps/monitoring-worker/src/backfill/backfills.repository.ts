import type { Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { heldUntil } from '../following/follower.repository';
import type { Recorded } from '../findings/record-findings';

type Reader = Pick<Tx, 'query'>;

export interface OpenBackfill {
  readonly changeId: string;
  readonly account: string;
  readonly name: string;
  /** Last position that was matched. */
  readonly position: string;
  readonly untilPosition: string;
}

/** Without those of disabled accounts. */
const isOpen = (row: string) =>
  `${row}.state IN ('waiting', 'running') AND ${row}.until_position < ${heldUntil}`;

@Injectable()
export class Backfills {
  constructor(private readonly database: DataSource) {}

  /** The oldest of each account, the oldest of all first. */
  async nextOfAccounts(): Promise<readonly OpenBackfill[]> {
    return await this.database.query<OpenBackfill[]>(
      `SELECT * FROM (
         SELECT DISTINCT ON (account_id) change_id AS "changeId", account_id AS account, name, position,
           until_position AS "untilPosition"
         FROM monitoring_backfill AS backfill WHERE ${isOpen('backfill')} ORDER BY account_id, change_id) AS oldest
       ORDER BY "changeId"`,
    );
  }

  async countOpen(): Promise<number> {
    const [{ open }] = await this.database.query<[{ open: number }]>(
      `SELECT count(*)::int AS open FROM monitoring_backfill AS backfill WHERE ${isOpen('backfill')}`,
    );
    return open;
  }

  /** The newest backfill of a name finds all that an older one would. */
  async cancelSuperseded(tx: Reader): Promise<void> {
    await tx.query(
      `UPDATE monitoring_backfill AS backfill SET state = 'canceled', finished_at = clock_timestamp()
       WHERE ${isOpen('backfill')} AND EXISTS (
         SELECT 1 FROM monitoring_backfill AS newer
         WHERE newer.account_id = backfill.account_id AND newer.name = backfill.name
           AND newer.change_id > backfill.change_id AND ${isOpen('newer')})`,
    );
  }

  async cancel(tx: Reader, { changeId }: OpenBackfill): Promise<void> {
    await tx.query(
      `UPDATE monitoring_backfill AS backfill SET state = 'canceled', finished_at = clock_timestamp()
       WHERE change_id = $1 AND ${isOpen('backfill')}`,
      [changeId],
    );
  }

  /** @returns false: it began again, or was canceled, meanwhile */
  async progress(
    tx: Reader,
    { changeId, position, untilPosition }: OpenBackfill,
    to: string,
    { found, unknown }: Recorded,
    isDone: boolean,
  ): Promise<boolean> {
    const [, changed] = await tx.query<[unknown, number]>(
      `UPDATE monitoring_backfill AS backfill SET position = $4, found = found + $5, unknown = unknown + $6,
         state = CASE WHEN $7 THEN 'done' ELSE 'running' END,
         finished_at = CASE WHEN $7 THEN clock_timestamp() END,
         mail_due = $7 AND found + $5 > 0
       WHERE change_id = $1 AND position = $2 AND until_position = $3 AND ${isOpen('backfill')}`,
      [changeId, position, untilPosition, to, found, unknown, isDone],
    );
    return changed > 0;
  }

  /** Those of the account that are to be mailed, once none is open: the one with the most unknown certificates first. */
  async takeMailDue(
    tx: Reader,
    account: string,
  ): Promise<readonly (Recorded & { readonly changeId: string })[]> {
    const [rows] = await tx.query<[(Recorded & { changeId: string })[], number]>(
      `UPDATE monitoring_backfill AS backfill SET mail_due = false
       WHERE account_id = $1 AND mail_due AND NOT EXISTS (
         SELECT 1 FROM monitoring_backfill AS other WHERE other.account_id = $1 AND ${isOpen('other')})
       RETURNING change_id AS "changeId", found, unknown`,
      [account],
    );
    return rows.toSorted((one, other) => other.unknown - one.unknown || other.found - one.found);
  }

  async domainsOf(account: string): Promise<readonly { readonly name: string; readonly enabled: boolean }[]> {
    return await this.database.query(
      `SELECT domain.name, domain.enabled FROM monitored_domain AS domain JOIN account ON account.id = domain.account_id
       WHERE domain.account_id = $1 AND account.disabled_at IS NULL`,
      [account],
    );
  }
}
