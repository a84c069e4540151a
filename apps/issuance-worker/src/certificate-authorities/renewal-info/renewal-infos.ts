import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { together, type Tx } from '@certwright/core-schema';

export interface DueRenewalInfo {
  readonly certificateId: string;
  readonly planId: string;
  readonly authority: string;
  readonly ariId: string;
  /** Id of the certificate, with notAfter. */
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** It replaced a certificate that had more than half of its lifetime left. */
  readonly replacedEarly: boolean;
  readonly failures: number;
  readonly windowStart: Date | null;
  readonly windowEnd: Date | null;
  /** The database's clock. */
  readonly now: Date;
}

/** A CA's renewal information for one certificate. */
export interface ReceivedRenewalInfo {
  readonly windowStart: Date;
  readonly windowEnd: Date;
  readonly explanationUrl: string | null;
  /** When to poll again. */
  readonly dueAt: Date;
  /** When to replace it, a time in the window; null: keep the time already chosen for the same window. */
  readonly renewAt: Date | null;
}

/** Renewal information of CAs (RFC 9773). Used only while a certificate is the current one. */
@Injectable()
export class RenewalInfos {
  constructor(private readonly database: DataSource) {}

  /**
   * Claims those that are due, oldest first; other workers skip them for the given time.
   *
   * @param limit for each CA: a backlog of one delays no other
   * @param except names of CAs
   */
  async take(
    limit: number,
    forMs: number,
    except: readonly string[] = [],
  ): Promise<readonly DueRenewalInfo[]> {
    // now() and not clock_timestamp(): the index needs a bound that is constant within the statement.
    const [rows] = await this.database.query<[DueRenewalInfo[], number]>(
      `UPDATE renewal_info SET due_at = clock_timestamp() + $2 * interval '1 millisecond'
       FROM certificate WHERE certificate.id = renewal_info.certificate_id AND certificate_id IN (
         SELECT due.certificate_id FROM certificate_authority AS ca CROSS JOIN LATERAL (
           SELECT certificate_id FROM renewal_info WHERE authority = ca.name AND due_at <= now()
           ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED) AS due
         WHERE ca.name <> ALL ($3::text[]))
       RETURNING certificate_id AS "certificateId", plan_id AS "planId", authority, ari_id AS "ariId", failures,
         not_before AS "notBefore", not_after AS "notAfter",
         EXISTS (
           SELECT FROM issuance JOIN certificate AS replaced ON replaced.id = replaces_certificate_id
           WHERE issuance.id = certificate.issuance_id
             AND certificate.not_before < replaced.not_before + (replaced.not_after - replaced.not_before) / 2) AS "replacedEarly",
         window_start AS "windowStart", window_end AS "windowEnd", clock_timestamp() AS now`,
      [limit, forMs, except],
    );
    return rows;
  }

  /**
   * Stores the window, and the plan's renewal time while the certificate is the current one. Otherwise nothing is stored with a
   * renewal time: without it the window counts as new when the certificate is the current one again.
   */
  async received(certificateId: string, received: ReceivedRenewalInfo): Promise<void> {
    const { renewAt } = received;
    if (renewAt === null) return await storeWindow(this.database, certificateId, received);
    // The plan's row is locked first: a renewal that is being attached moves `is_current` under that lock, and a statement that
    // waited for it would still see the certificate as the current one.
    await this.database.transaction(async (tx) => {
      await together([
        lockPlan(tx, certificateId),
        setRenewalTime(tx, certificateId, renewAt),
        storeWindow(tx, certificateId, received),
      ]);
    });
  }

  /** The CA is down: no request was sent. */
  async postponed(certificateId: string, dueAt: Date): Promise<void> {
    await this.database.query(`UPDATE renewal_info SET due_at = $2 WHERE certificate_id = $1`, [
      certificateId,
      dueAt,
    ]);
  }

  async failed(certificateId: string, dueAt: Date): Promise<void> {
    await this.database.query(
      `UPDATE renewal_info SET failures = failures + 1, due_at = $2 WHERE certificate_id = $1`,
      [certificateId, dueAt],
    );
  }

  /**
   * Deletes those of certificates that are revoked or expired. Those of certificates that are valid, but not the current
   * one, are not due; a certificate that is the current one again begins without a window.
   */
  async follow(): Promise<void> {
    await this.database.query(
      `WITH changed AS MATERIALIZED (
         SELECT id, is_current, revoked_at IS NOT NULL OR not_after <= now() AS is_over
         FROM renewal_info JOIN certificate ON certificate.id = certificate_id
         WHERE revoked_at IS NOT NULL OR not_after <= now() OR is_current = (due_at = 'infinity')),
       gone AS (
         DELETE FROM renewal_info USING changed WHERE certificate_id = changed.id AND is_over)
       UPDATE renewal_info SET window_start = NULL, window_end = NULL, failures = 0,
         due_at = CASE WHEN is_current THEN clock_timestamp() ELSE 'infinity' END
       FROM changed WHERE certificate_id = changed.id AND NOT is_over`,
    );
  }
}

async function lockPlan(tx: Tx, certificateId: string): Promise<void> {
  await tx.query(
    `SELECT FROM plan WHERE id = (SELECT plan_id FROM certificate WHERE id = $1) FOR NO KEY UPDATE`,
    [certificateId],
  );
}

async function setRenewalTime(tx: Tx, certificateId: string, renewAt: Date): Promise<void> {
  await tx.query(
    `UPDATE plan SET renew_at = $2 FROM certificate
     WHERE certificate.id = $1 AND certificate.plan_id = plan.id AND certificate.is_current`,
    [certificateId, renewAt],
  );
}

async function storeWindow(
  tx: Pick<Tx, 'query'>,
  certificateId: string,
  { windowStart, windowEnd, explanationUrl, dueAt, renewAt }: ReceivedRenewalInfo,
): Promise<void> {
  await tx.query(
    `UPDATE renewal_info SET window_start = $2, window_end = $3, explanation_url = $4, due_at = $5, failures = 0
     FROM certificate WHERE certificate_id = $1 AND certificate.id = $1 AND ($6 OR is_current)`,
    [certificateId, windowStart, windowEnd, explanationUrl, dueAt, renewAt === null],
  );
}
