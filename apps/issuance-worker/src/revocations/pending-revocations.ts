import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Transactions, type Tx } from '@certwright/core-schema';
import type { Outcome } from '@certwright/issuance';
import { lapsedRevocations, mailRevoked } from '@certwright/delivery';
import { neutralMessage } from '@certwright/outcome-messages';

/** A certificate that is revoked here, but not yet at the CA. */
export interface PendingRevocation {
  readonly certificateId: string;
  readonly accountId: string;
  /** Lower-case hex. */
  readonly serialNumber: string;
  /** DER. */
  readonly leaf: Buffer;
  /** The CA's own handle for it. */
  readonly caReference: string;
  /** CRLReason, RFC 5280, 5.3.1. */
  readonly reason: number;
  /** The issuing CA. */
  readonly certificateAuthority: string;
}

export interface DueRevocation {
  readonly id: string;
  readonly reason: number;
  /** Which of the revocations of its account, from 1. */
  readonly turn: number;
}

/**
 * Seconds until the next attempt: doubled with each failure. A CA has 24 h for the most urgent revocations (Baseline
 * Requirements 4.9.1.1), so none waits for longer than an hour.
 */
const pauses = { unavailable: { firstS: 10, maxS: 600 }, refused: { firstS: 60, maxS: 3_600 } } as const;

/** An expired certificate needs no revocation any more. */
const isPending = `certificate.revoked_at IS NOT NULL AND certificate.ca_revoked_at IS NULL AND certificate.not_after >= now()`;

@Injectable()
export class PendingRevocations {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
  ) {}

  /** @returns null when there is nothing to report to the CA, or no longer */
  async find(certificateId: string): Promise<PendingRevocation | null> {
    const rows: PendingRevocation[] = await this.database.query(
      `SELECT certificate.id AS "certificateId", certificate.account_id AS "accountId",
         certificate.serial_number AS "serialNumber", certificate.leaf, certificate.ca_reference AS "caReference",
         coalesce(certificate.revocation_reason, 0) AS reason,
         coalesce(acme_order.authority, 'built-in') AS "certificateAuthority"
       FROM certificate
       LEFT JOIN acme_order ON certificate.ca_reference = 'acme:' || acme_order.id
         AND acme_order.issuance_id = certificate.issuance_id
       WHERE certificate.id = $1 AND ${isPending}`,
      [certificateId],
    );
    return rows[0] ?? null;
  }

  /**
   * The CA has revoked it for this reason. When the reason was changed meanwhile, it stays pending. Its owner gets a
   * mail when every certificate that was revoked together with it is confirmed.
   *
   * @param reason as reported to the CA
   */
  async confirm(certificateId: string, reason: number): Promise<void> {
    await this.transactions.run(async (tx) => {
      await lockPlanOf(tx, certificateId);
      const [, confirmed] = await tx.query<[unknown, number]>(
        `UPDATE certificate SET ca_revoked_at = clock_timestamp()
         WHERE id = $1 AND coalesce(revocation_reason, 0) = $2 AND revoked_at IS NOT NULL AND ca_revoked_at IS NULL`,
        [certificateId, reason],
      );
      if (confirmed > 0) await mailRevoked(tx, certificateId);
      await tx.query(`DELETE FROM revocation_attempt WHERE certificate_id = $1`, [certificateId]);
    });
  }

  /** Mails revocations whose last certificate expired before its CA confirmed it. */
  async mailLapsed(): Promise<void> {
    for (const { planId, certificateId } of await lapsedRevocations(this.database, null))
      await this.transactions.run(async (tx) => {
        await lockPlanOf(tx, certificateId);
        // Another worker may have mailed it before the lock.
        for (const each of await lapsedRevocations(tx, planId)) await mailRevoked(tx, each.certificateId);
      });
  }

  /**
   * The CA has not revoked it: it is due again later.
   *
   * @returns failures in a row, this one included
   */
  async failed(
    certificateId: string,
    { refused, outcome }: { readonly refused: boolean; readonly outcome: Outcome },
  ): Promise<number> {
    const { firstS, maxS } = refused ? pauses.refused : pauses.unavailable;
    const [row] = await this.database.query<[{ failures: number }?]>(
      `INSERT INTO revocation_attempt AS attempt (certificate_id, failures, due_at, refused, problem, outcome)
       VALUES ($1, 1, clock_timestamp() + $2 * interval '1 second', $4, $5, $6::jsonb)
       ON CONFLICT (certificate_id) DO UPDATE SET
         failures = attempt.failures + 1, refused = excluded.refused, problem = excluded.problem, outcome = excluded.outcome,
         due_at = clock_timestamp() + least($2::float8 * 2 ^ least(attempt.failures, 20), $3) * interval '1 second'
       RETURNING failures`,
      [certificateId, firstS, maxS, refused, neutralMessage(outcome), JSON.stringify(outcome)],
    );
    return row?.failures ?? 1;
  }

  /** Revocations that the CA has not confirmed. `failing`: it was unavailable at the last attempt. */
  async counts(): Promise<Readonly<Record<'waiting' | 'failing' | 'refused', number>>> {
    const [row] = await this.database.query<[{ waiting: number; failing: number; refused: number }]>(
      `SELECT count(*) FILTER (WHERE refused IS NULL)::int AS waiting,
         count(*) FILTER (WHERE NOT refused)::int AS failing, count(*) FILTER (WHERE refused)::int AS refused
       FROM certificate LEFT JOIN revocation_attempt ON certificate_id = certificate.id WHERE ${isPending}`,
    );
    return row;
  }

  /** An expired certificate is not revoked any more. */
  async forgetExpired(): Promise<void> {
    await this.database.query(
      `DELETE FROM revocation_attempt USING certificate
       WHERE certificate.id = certificate_id AND certificate.not_after < now()`,
    );
  }

  /**
   * Revocations that are due: with a lost wake-up, or after a failure. The oldest of every account, then the second of every
   * account …, so that the backlog of one account does not delay the others. Its cost grows with the due revocations.
   *
   * @param after last one of the previous page, so that those of a CA that is down do not hide others; null: from the start
   */
  async page(
    after: Pick<DueRevocation, 'turn' | 'id'> | null,
    limit: number,
  ): Promise<readonly DueRevocation[]> {
    return await this.database.query(
      `SELECT * FROM (
         SELECT id, coalesce(revocation_reason, 0) AS reason,
           (row_number() OVER (PARTITION BY account_id ORDER BY revoked_at, id))::int AS turn
         FROM certificate WHERE ${isPending} AND NOT EXISTS (
           SELECT FROM revocation_attempt WHERE certificate_id = certificate.id AND due_at > now())) AS due
       WHERE (turn, id) > ($1, $2) ORDER BY turn, id LIMIT $3`,
      [after?.turn ?? 0, after?.id ?? 0, limit],
    );
  }
}

async function lockPlanOf(tx: Tx, certificateId: string): Promise<void> {
  await tx.query(`SELECT 1 FROM plan WHERE id = (SELECT plan_id FROM certificate WHERE id = $1) FOR UPDATE`, [
    certificateId,
  ]);
}
