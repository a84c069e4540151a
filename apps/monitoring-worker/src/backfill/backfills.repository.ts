import type { Tx } from '@certwright/core-schema';
import { mostSpecificMatch } from '@certwright/dns-names';
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

/** Without those of disabled accounts, also of one whose disabling the follower has not noticed. */
const isOpen = (row: string) =>
  `${row}.state IN ('waiting', 'running') AND ${row}.until_position < ${heldUntil} AND NOT EXISTS (
     SELECT 1 FROM account WHERE account.id = ${row}.account_id AND account.disabled_at IS NOT NULL)`;

const isSuperseded = (row: string) => `EXISTS (
  SELECT 1 FROM monitoring_backfill AS newer
  WHERE newer.account_id = ${row}.account_id AND newer.name = ${row}.name AND newer.change_id > ${row}.change_id
    AND ${isOpen('newer')})`;

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

  /** The newest backfill of a name finds all that an older one would, except what that has found: it is counted with it. */
  async cancelSuperseded(tx: Reader): Promise<void> {
    await tx.query(
      `WITH canceled AS (
         UPDATE monitoring_backfill AS backfill SET state = 'canceled', finished_at = clock_timestamp()
         WHERE ${isOpen('backfill')} AND ${isSuperseded('backfill')}
         RETURNING account_id, name, found, unknown)
       UPDATE monitoring_backfill AS backfill SET found = found + before.sum_found, unknown = unknown + before.sum_unknown
       FROM (SELECT account_id, name, sum(found)::int AS sum_found, sum(unknown)::int AS sum_unknown
         FROM canceled GROUP BY account_id, name) AS before
       WHERE backfill.account_id = before.account_id AND backfill.name = before.name
         AND ${isOpen('backfill')} AND NOT ${isSuperseded('backfill')}`,
    );
  }

  /** @returns false: it is no longer open */
  async cancel(tx: Reader, { changeId }: OpenBackfill): Promise<boolean> {
    const [, changed] = await tx.query<[unknown, number]>(
      `UPDATE monitoring_backfill AS backfill SET state = 'canceled', finished_at = clock_timestamp()
       WHERE change_id = $1 AND ${isOpen('backfill')}`,
      [changeId],
    );
    return changed > 0;
  }

  /**
   * Locks the row until the end of the transaction.
   *
   * @returns false: it began again, or was canceled, meanwhile
   */
  async lock(tx: Reader, { changeId, position, untilPosition }: OpenBackfill): Promise<boolean> {
    const open = await tx.query<unknown[]>(
      `SELECT 1 FROM monitoring_backfill AS backfill
       WHERE change_id = $1 AND position = $2 AND until_position = $3 AND ${isOpen('backfill')} FOR UPDATE`,
      [changeId, position, untilPosition],
    );
    return open.length > 0;
  }

  /** The caller has locked the row, see `lock`. */
  async progress(
    tx: Reader,
    { changeId }: OpenBackfill,
    to: string,
    { found, unknown }: Recorded,
    isDone: boolean,
  ): Promise<void> {
    await tx.query(
      `UPDATE monitoring_backfill SET position = $2, found = found + $3, unknown = unknown + $4,
         state = CASE WHEN $5 THEN 'done' ELSE 'running' END,
         finished_at = CASE WHEN $5 THEN clock_timestamp() END,
         mail_due = $5 AND found + $3 > 0
       WHERE change_id = $1`,
      [changeId, to, found, unknown, isDone],
    );
  }

  /** Without disabled accounts, whose open backfills wait, too: they get no mail. */
  async accountsToMail(): Promise<readonly string[]> {
    const rows = await this.database.query<{ account: string }[]>(
      `SELECT DISTINCT account_id AS account FROM monitoring_backfill AS backfill
       WHERE mail_due AND NOT EXISTS (
         SELECT 1 FROM account WHERE account.id = backfill.account_id AND account.disabled_at IS NOT NULL)
       ORDER BY account_id`,
    );
    return rows.map(({ account }) => account);
  }

  /**
   * The backfills of the account whose summary is due, once none is open and all of their certificates are classified. Those with
   * the most unknown certificates come first; those of names that are no longer monitored come last, as the notifier sends no
   * mail for them.
   */
  async takeMailDue(
    tx: Reader,
    account: string,
  ): Promise<readonly (Recorded & { readonly changeId: string })[]> {
    const [rows] = await tx.query<[(Recorded & { changeId: string; name: string })[], number]>(
      `UPDATE monitoring_backfill AS backfill SET mail_due = false
       WHERE account_id = $1 AND mail_due AND NOT EXISTS (
         SELECT 1 FROM monitoring_backfill AS other WHERE other.account_id = $1 AND ${isOpen('other')})
         AND NOT EXISTS (
           SELECT 1 FROM monitoring_finding
           WHERE account_id = $1 AND classify_at <= clock_timestamp() AND source = 'backfill')
       RETURNING change_id AS "changeId", name, found, unknown`,
      [account],
    );
    if (rows.length < 2) return rows;
    const domains = await this.domainsOf(account, tx);
    const ranked = rows.map((row) => ({
      row,
      isMonitored: mostSpecificMatch(domains, row.name)?.enabled === true,
    }));
    return ranked
      .toSorted(
        (one, other) =>
          Number(other.isMonitored) - Number(one.isMonitored) ||
          other.row.unknown - one.row.unknown ||
          other.row.found - one.row.found,
      )
      .map(({ row }) => row);
  }

  async domainsOf(
    account: string,
    reader: Reader = this.database,
  ): Promise<readonly { readonly name: string; readonly enabled: boolean }[]> {
    return await reader.query(
      `SELECT domain.name, domain.enabled FROM monitored_domain AS domain JOIN account ON account.id = domain.account_id
       WHERE domain.account_id = $1 AND account.disabled_at IS NULL`,
      [account],
    );
  }
}
