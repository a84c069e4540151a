import { Transactions, type Tx } from '@certwright/core-schema';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { LeasedRounds } from '../tasks/leased-rounds';
import { lockTask, type TaskLease } from '../tasks/task-leases';

/** Rows of one transaction. */
const maxRows = 500;

/** Wait between rounds without work, ms. */
const pollMs = 60_000;

/** Wait between two pages of findings, ms: the whole table is read again and again. */
const pageMs = 1_000;

interface Place {
  readonly account: string;
  readonly tbsSha256: Buffer;
}

const start: Place = { account: '0', tbsSha256: Buffer.alloc(0) };

/** Deletes what is no longer kept. */
@Injectable()
export class Housekeeping implements OnModuleInit {
  private after = start;

  constructor(
    private readonly rounds: LeasedRounds,
    private readonly transactions: Transactions,
  ) {}

  onModuleInit(): void {
    this.rounds.add('housekeeping', async (lease) => {
      const deleted =
        (await this.expiredFindings(lease)) +
        (await this.oldBackfills(lease)) +
        (await this.endpoints(lease));
      const isOver = await this.unmonitoredFindings(lease);
      return deleted >= maxRows ? 0 : isOver ? pollMs : pageMs;
    });
  }

  /** 30 days after the certificate expired. @returns how many */
  async expiredFindings(lease: TaskLease): Promise<number> {
    return await this.delete(lease, async (tx) => {
      const rows = await tx.query<{ tbs: Buffer }[]>(
        deleteFindings(`
          SELECT account_id, tbs_sha256 FROM monitoring_finding
          WHERE not_after < now() - interval '30 days' ORDER BY not_after LIMIT $1`),
        [maxRows],
      );
      return rows.length;
    });
  }

  /**
   * One page of the findings of no monitored domain: they are kept for 30 days after the last of their domains was deleted, so
   * that one that is added again does not report them twice.
   *
   * @returns whether it was the last page
   */
  async unmonitoredFindings(lease: TaskLease): Promise<boolean> {
    const { after } = this;
    return await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      const [last] = await tx.query<Place[]>(
        `SELECT account_id AS account, tbs_sha256 AS "tbsSha256" FROM (
           SELECT account_id, tbs_sha256 FROM monitoring_finding WHERE (account_id, tbs_sha256) > ($1, $2)
           ORDER BY account_id, tbs_sha256 LIMIT $3) AS page
         ORDER BY account_id DESC, tbs_sha256 DESC LIMIT 1`,
        [after.account, after.tbsSha256, maxRows],
      );
      this.after = last ?? start;
      if (last === undefined) return true;
      await tx.query(deleteFindings(unmonitored), [
        after.account,
        after.tbsSha256,
        last.account,
        last.tbsSha256,
      ]);
      return false;
    });
  }

  /** Of domains that are no longer monitored, or were added again since. @returns how many */
  async oldBackfills(lease: TaskLease): Promise<number> {
    return await this.delete(lease, async (tx) => {
      const [, deleted] = await tx.query<[unknown, number]>(
        `DELETE FROM monitoring_backfill WHERE change_id IN (
           SELECT change_id FROM monitoring_backfill AS backfill
           WHERE finished_at < now() - interval '30 days' AND (
             NOT EXISTS (SELECT 1 FROM monitored_domain AS domain
               WHERE domain.account_id = backfill.account_id AND domain.name = backfill.name)
             OR EXISTS (SELECT 1 FROM monitoring_backfill AS newer
               WHERE newer.account_id = backfill.account_id AND newer.name = backfill.name
                 AND newer.change_id > backfill.change_id))
           LIMIT $1)`,
        [maxRows],
      );
      return deleted;
    });
  }

  /**
   * Reports and holds after 30 days, and endpoints 30 days after the last of their certificates expired, unless they are
   * monitored by name or a server still presents something.
   *
   * @returns how many
   */
  async endpoints(lease: TaskLease): Promise<number> {
    return await this.delete(lease, async (tx) => {
      const [, reports] = await tx.query<[unknown, number]>(
        `DELETE FROM endpoint_report WHERE id IN (
           SELECT id FROM endpoint_report WHERE reported_at < now() - interval '30 days' ORDER BY reported_at LIMIT $1)`,
        [maxRows],
      );
      await tx.query(`DELETE FROM endpoint_hold WHERE ended_at < now() - interval '30 days'`);
      const [, endpoints] = await tx.query<[unknown, number]>(
        `DELETE FROM monitored_endpoint WHERE (account_id, dns_name) IN (
           SELECT account_id, dns_name FROM monitored_endpoint AS endpoint
           WHERE last_not_after < now() - interval '30 days' AND state IN ('gone', 'not_checked') AND NOT EXISTS (
             SELECT 1 FROM monitored_domain AS domain
             WHERE domain.account_id = endpoint.account_id AND domain.name = endpoint.dns_name)
           ORDER BY last_not_after LIMIT $1)`,
        [maxRows],
      );
      return reports + endpoints;
    });
  }

  private async delete(lease: TaskLease, work: (tx: Tx) => Promise<number>): Promise<number> {
    return await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      return await work(tx);
    });
  }
}

const unmonitored = `
  SELECT account_id, tbs_sha256 FROM monitoring_finding AS finding
  WHERE (account_id, tbs_sha256) > ($1, $2) AND (account_id, tbs_sha256) <= ($3, $4)
    AND found_at < now() - interval '30 days'
    AND NOT EXISTS (SELECT 1 FROM monitored_domain AS domain
      WHERE domain.account_id = finding.account_id AND domain.name = ANY (finding.monitored_domains))
    AND NOT EXISTS (SELECT 1 FROM monitoring_change AS change
      WHERE change.account_id = finding.account_id AND change.object = 'monitored_domain' AND change.action = 'deleted'
        AND change.name = ANY (finding.monitored_domains) AND change.changed_at > now() - interval '30 days')`;

/** With the names for which they were the newest. */
const deleteFindings = (chosen: string): string => `
  WITH chosen AS (${chosen}),
  deleted AS (
    DELETE FROM monitoring_finding AS finding USING chosen
    WHERE finding.account_id = chosen.account_id AND finding.tbs_sha256 = chosen.tbs_sha256
    RETURNING finding.account_id, finding.tbs_sha256, finding.dns_names),
  names AS (
    DELETE FROM monitored_name AS newest
    USING (SELECT account_id, tbs_sha256, unnest(dns_names) AS dns_name FROM deleted) AS old
    WHERE newest.account_id = old.account_id AND newest.dns_name = old.dns_name
      AND newest.tbs_sha256 = old.tbs_sha256)
  SELECT tbs_sha256 AS tbs FROM deleted`;
