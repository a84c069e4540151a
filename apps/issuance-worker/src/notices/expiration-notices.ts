import { noticeDecision, noticeThresholdsDays } from '@certwright/issuance';
import { Round } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Mails } from '@certwright/delivery';
import { type Tx, Transactions } from '@certwright/core-schema';

interface DueRow {
  readonly id: string;
  readonly account_id: string;
  readonly not_before: Date;
  readonly not_after: Date;
  readonly muted: boolean;
  readonly noticed: number[];
  readonly now: Date;
}

export interface NoticeRound {
  /** Certificates that were checked; when this equals the limit, there may be more. */
  readonly found: number;
  /** Mails enqueued. */
  readonly mailed: number;
}

/** Certificates of one round: locked for a few statements each. */
const batch = 100;

/** Between two rounds, ms: thresholds are days apart. */
const restMs = 30_000;

@Injectable()
export class ExpirationNotices {
  constructor(
    private readonly transactions: Transactions,
    private readonly mails: Mails,
  ) {}

  @Round('notices')
  async write(): Promise<number> {
    const { found } = await this.writeDue(batch);
    return found < batch ? restMs : 0;
  }

  /**
   * Writes the notices that are due, each with its mail and the mail's wake-up: one transaction, and the primary key
   * of expiration_notice ensures "once per certificate and threshold". Plans and certificates are locked, so none is
   * replaced or revoked meanwhile. A threshold of an account without an address counts as handled too: an address
   * that is added later gets the next one.
   *
   * @param limit certificates of one round
   * @param now default: the database's clock
   */
  async writeDue(limit: number, now: Date | null = null): Promise<NoticeRound> {
    return await this.transactions.run(async (tx) => {
      const due = await lockDue(tx, limit, now);
      const addresses = new Map<string, string | null>();
      let mailed = 0;
      for (const row of due) {
        const { mail, mark } = decide(row);
        const marked = await this.mark(tx, row.id, mark);
        // Another worker may have handled them between our reading and our locking of the rows.
        if (mail === null || !marked.includes(mail)) continue;
        const accountId = row.account_id;
        if (!addresses.has(accountId)) addresses.set(accountId, await this.mails.addressOf(accountId, tx));
        const recipient = addresses.get(accountId) ?? null;
        if (recipient === null) continue;
        const facts = { certificateId: row.id, thresholdDays: mail };
        await this.mails.enqueue(tx, { accountId, kind: 'expiration-notice', recipient, facts });
        mailed += 1;
      }
      return { found: due.length, mailed };
    });
  }

  /** @returns the thresholds that were not handled yet */
  private async mark(
    tx: Tx,
    certificateId: string,
    thresholds: readonly number[],
  ): Promise<readonly number[]> {
    const rows = await tx.query<{ threshold_days: number }[]>(
      `INSERT INTO expiration_notice (certificate_id, threshold_days) SELECT $1::bigint, * FROM unnest($2::int[])
       ON CONFLICT DO NOTHING RETURNING threshold_days`,
      [certificateId, thresholds],
    );
    return rows.map(({ threshold_days }) => threshold_days);
  }
}

function decide({ not_before: notBefore, not_after: notAfter, muted, noticed, now }: DueRow) {
  return noticeDecision({ certificate: { notBefore, notAfter, revokedAt: null }, muted, noticed }, now);
}

/**
 * Current certificates whose nearest passed threshold is not handled. With the nearest one all larger ones are
 * handled, so one look-up per certificate suffices.
 */
const dueStatement = `
  SELECT certificate.id, certificate.account_id, not_before, not_after, plan.muted, clock.now,
    ARRAY(SELECT threshold_days FROM expiration_notice WHERE certificate_id = certificate.id) AS noticed
  FROM (SELECT coalesce($2::timestamptz, now()) AS now) AS clock
  CROSS JOIN certificate
  JOIN plan ON plan.id = certificate.plan_id
  CROSS JOIN LATERAL (
    SELECT min(days) AS days FROM unnest($4::int[]) AS days
    WHERE not_after - days * interval '24 hours' > not_before
      AND not_after - days * interval '24 hours' <= clock.now) AS nearest
  WHERE is_current AND revoked_at IS NULL AND plan.closed_at IS NULL
    AND not_after >= coalesce($2::timestamptz, now())
    AND not_after <= coalesce($2::timestamptz, now()) + $3::int * interval '24 hours'
    AND nearest.days IS NOT NULL
    AND NOT EXISTS (
      SELECT 1 FROM expiration_notice WHERE certificate_id = certificate.id AND threshold_days = nearest.days)
  ORDER BY not_after LIMIT $1 FOR UPDATE OF plan, certificate SKIP LOCKED`;

async function lockDue(tx: Tx, limit: number, now: Date | null): Promise<DueRow[]> {
  const thresholds = [...noticeThresholdsDays];
  return await tx.query(dueStatement, [limit, now, Math.max(...thresholds), thresholds]);
}
