import { Transactions, type Tx } from '@certwright/core-schema';
import { Mails } from '@certwright/delivery';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config';
import { databaseTime } from '../findings/finding-accounts';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { EndpointEvents } from './endpoint-events';

/** Endpoints since some time: those that were checked, and those of them that turned bad. */
interface Counts {
  readonly checked: number;
  readonly bad: number;
}

/** A time in which reports are held back. */
export interface Hold extends Counts {
  readonly beganAt: Date;
  readonly countedFrom: Date;
}

interface Threshold {
  /** Fewer are rather a fault of one server than of the platform. */
  readonly minBad: number;
  /** Of the checked endpoints. */
  readonly share: number;
}

/** A round takes a tenth longer than the interval; a small installation is not held back by a server with a few names. */
const ofRound = { intervals: 1.1, minBad: 20, share: 1 / 10 } as const;

/**
 * Three checks of an endpoint take two intervals and two ninths: the first problems would be reported before a tenth of all
 * endpoints was checked. Of so few checks, a tenth may be chance.
 */
const ofConfirmation = { intervals: 2.3, minBad: 5, share: 1 / 3 } as const;

const untilEnd: Threshold = { minBad: 3, share: 1 / 20 };

/** Rows of which reports may be sent again, per transaction. */
const maxResumed = 1_000;

/**
 * Holds reports of all accounts back while many endpoints turned bad: that is rather a fault of the network, the resolver or
 * the clock of the platform than of that many servers.
 */
@Injectable()
export class EndpointValve {
  constructor(
    private readonly transactions: Transactions,
    private readonly mails: Mails,
    private readonly events: EndpointEvents,
    @Inject(Config)
    private readonly config: Pick<
      Config,
      'ENDPOINT_CHECK_EVERY' | 'ENDPOINT_CONFIRM_EVERY' | 'OPERATOR_MAIL'
    >,
  ) {}

  /**
   * In the transaction that is about to report, after it stored its checks; the caller holds the lease, so that no other one
   * decides at the same time.
   */
  async check(tx: Tx, now: Date): Promise<{ readonly isHeld: boolean; readonly begun: Hold | null }> {
    if (await isHeld(tx)) return { isHeld: true, begun: null };
    const begun = await this.exceeding(tx, now);
    if (begun !== null) await this.begin(tx, begun);
    return { isHeld: begun !== null, begun };
  }

  /**
   * Begins a hold when many endpoints turned bad, or ends it when few are. Those with a report that was held back are checked
   * soon then, and reported if they still are bad.
   *
   * @param at default: the database's clock
   * @returns whether there is more to do
   */
  async turn(lease: TaskLease, at: Date | null = null): Promise<boolean> {
    const { begun, isEnded, hasMore } = await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      const now = at ?? (await databaseTime(tx)).now;
      const [hold] = await tx.query<{ id: string; countedFrom: Date }[]>(
        `SELECT id, counted_from AS "countedFrom" FROM endpoint_hold WHERE ended_at IS NULL`,
      );
      const idle = { begun: null, isEnded: false, hasMore: false };
      if (hold === undefined) {
        const { begun } = await this.check(tx, now);
        return begun === null ? { ...idle, hasMore: await this.resume(tx, now) } : { ...idle, begun };
      }
      if (exceeds(await countsSince(tx, hold.countedFrom), untilEnd)) return idle;
      await tx.query(`UPDATE endpoint_hold SET ended_at = $2 WHERE id = $1`, [hold.id, now]);
      return { begun: null, isEnded: true, hasMore: true };
    });
    if (begun !== null) this.events.holdBegan(begun);
    if (isEnded) this.events.holdEnded();
    return hasMore;
  }

  private async begin(tx: Tx, { beganAt, countedFrom, checked, bad }: Hold): Promise<void> {
    await tx.query(`INSERT INTO endpoint_hold (began_at, counted_from) VALUES ($1, $2)`, [
      beganAt,
      countedFrom,
    ]);
    const { OPERATOR_MAIL: recipient } = this.config;
    if (recipient === null) return;
    const facts = { since: beganAt.toISOString(), countedFrom: countedFrom.toISOString(), checked, bad };
    await this.mails.enqueue(tx, {
      accountId: null,
      kind: 'monitoring-endpoints-held',
      recipient,
      facts,
    });
  }

  /** @returns whether there is more to do */
  private async resume(tx: Tx, now: Date): Promise<boolean> {
    const [, resumed] = await tx.query<[unknown, number]>(
      `UPDATE monitored_endpoint
       SET held_since = NULL, check_due_at = least(check_due_at, $1::timestamptz + random() * $2::float8 * interval '1 ms')
       WHERE (account_id, dns_name) IN (
         SELECT account_id, dns_name FROM monitored_endpoint WHERE held_since IS NOT NULL
         ORDER BY held_since LIMIT $3 FOR UPDATE SKIP LOCKED)`,
      [now, this.config.ENDPOINT_CONFIRM_EVERY, maxResumed],
    );
    return resumed === maxResumed;
  }

  /** Since the last hold at most, so that the operator can end one. */
  private async exceeding(tx: Tx, now: Date): Promise<Hold | null> {
    const [{ endedAt }] = await tx.query<[{ endedAt: Date | null }]>(
      `SELECT max(ended_at) AS "endedAt" FROM endpoint_hold`,
    );
    const windows = [
      [ofConfirmation, ofConfirmation.intervals * this.config.ENDPOINT_CONFIRM_EVERY],
      [ofRound, ofRound.intervals * this.config.ENDPOINT_CHECK_EVERY],
    ] as const;
    for (const [threshold, windowMs] of windows) {
      const countedFrom = new Date(Math.max(now.getTime() - windowMs, endedAt?.getTime() ?? 0));
      const counts = await countsSince(tx, countedFrom);
      if (exceeds(counts, threshold)) return { beganAt: now, countedFrom, ...counts.all };
    }
    return null;
  }
}

/** Whether reports are held back now. */
export async function isHeld(reader: Pick<Tx, 'query'>): Promise<boolean> {
  const holds: unknown[] = await reader.query(`SELECT 1 FROM endpoint_hold WHERE ended_at IS NULL`);
  return holds.length > 0;
}

interface AccountCounts {
  readonly all: Counts;
  /** Without the account with most bad ones: one tenant cannot hold back the reports of the others. Null: there is no other. */
  readonly others: Counts | null;
}

const exceeds = ({ all, others }: AccountCounts, { minBad, share }: Threshold): boolean =>
  all.bad >= minBad &&
  all.bad > all.checked * share &&
  (others === null || others.bad > others.checked * share);

async function countsSince(tx: Tx, from: Date): Promise<AccountCounts> {
  const [{ bad }] = await tx.query<[{ bad: number }]>(
    `SELECT count(*)::int AS bad FROM monitored_endpoint WHERE bad_since >= $1`,
    [from],
  );
  // Counting those that were checked takes longer.
  if (bad < untilEnd.minBad) return { all: { checked: 0, bad }, others: null };
  const [{ checked, others }] = await tx.query<[{ checked: number; others: Counts | null }]>(
    `WITH counts AS MATERIALIZED (
       SELECT account_id, count(*) AS checked, count(*) FILTER (WHERE bad_since >= $1) AS bad
       FROM monitored_endpoint WHERE looked_at >= $1 GROUP BY account_id)
     SELECT coalesce(sum(checked), 0)::int AS checked, (
       SELECT jsonb_build_object('checked', sum(checked), 'bad', sum(bad))
       FROM (SELECT * FROM counts ORDER BY bad DESC, account_id OFFSET 1) AS rest HAVING count(*) > 0) AS others
     FROM counts`,
    [from],
  );
  return { all: { checked, bad }, others };
}
