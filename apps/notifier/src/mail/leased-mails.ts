import { leases } from '@certwright/postgres';
import type { TracedRow } from '@certwright/jobs';
import { tracedColumns } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { NewMail } from '@certwright/delivery';

/** The right to send one mail: lost when it expires by the database's clock, or when another process takes it. */
export interface MailLease {
  readonly mailId: string;
  /** The fencing token. */
  readonly token: string;
}

export type LeasedMail = NewMail & {
  readonly lease: MailLease;
  /** Attempts so far. */
  readonly attempts: number;
  readonly createdAt: Date;
  /** The database's clock. */
  readonly now: Date;
};

export interface DueMail extends TracedRow {
  readonly id: string;
  readonly leaseToken: string;
  /** Which of the mails of its account, from 1. */
  readonly turn: number;
  /** Seconds since it became due. */
  readonly overdueS: number;
}

/** The outcome of an attempt for a mail. */
export type SentMail =
  { readonly state: 'sent' | 'failed' | 'canceled' } | { readonly state: 'pending'; readonly dueAt: Date };

/** Mails leased by the sending process. */
@Injectable()
export class LeasedMails {
  constructor(private readonly database: DataSource) {}

  /** @returns null when it is not due, no longer pending, or leased */
  async lease(mailId: string, leaseMs: number): Promise<LeasedMail | null> {
    const [[row]] = await this.database.query<[LeaseRow[], number]>(leaseStatement, [mailId, leaseMs]);
    if (row === undefined) return null;
    const { id, account_id, kind, recipient, facts, lease_token, attempts, created_at, now } = row;
    return {
      lease: { mailId: id, token: lease_token },
      accountId: account_id,
      kind,
      recipient,
      facts,
      attempts,
      createdAt: created_at,
      now,
      // Kind and facts were stored as a pair.
    } as LeasedMail;
  }

  /** @returns false when the lease is lost: then nothing was written */
  async finish({ mailId, token }: MailLease, sent: SentMail): Promise<boolean> {
    const [, changed] = await this.database.query<[unknown, number]>(
      `UPDATE mail SET state = $3, attempts = attempts + 1, ${leases.release},
         finished_at = CASE WHEN $3 <> 'pending' THEN clock_timestamp() END,
         due_at = coalesce($4::timestamptz, due_at)
       WHERE id = $1 AND ${leases.isHeld('$2')} AND state = 'pending'`,
      [mailId, token, sent.state, sent.state === 'pending' ? sent.dueAt : null],
    );
    return changed > 0;
  }

  /**
   * Mails that are due and not leased. The oldest of every account, then the second of every account …, so that the backlog
   * of one account does not delay the others. Its cost grows with the due mails.
   */
  async due(limit: number): Promise<readonly DueMail[]> {
    return await this.database.query(
      `SELECT id, lease_token AS "leaseToken", extract(epoch FROM clock_timestamp() - due_at)::int AS "overdueS",
         (row_number() OVER (PARTITION BY account_id ORDER BY due_at, id))::int AS turn ${tracedColumns('created_at')}
       FROM mail
       WHERE state = 'pending' AND due_at <= clock_timestamp()
         AND ${leases.isFree()}
       ORDER BY turn, due_at LIMIT $1`,
      [limit],
    );
  }

  /** How long the oldest waiting mail has been due, seconds; 0 without one. */
  async oldestDueS(): Promise<number> {
    const [row] = await this.database.query<[{ oldest: number }]>(
      `SELECT greatest(0, coalesce(extract(epoch FROM now() - min(due_at)), 0))::float AS oldest
       FROM mail WHERE state = 'pending'`,
    );
    return row.oldest;
  }
}

interface LeaseRow {
  readonly id: string;
  readonly account_id: string;
  readonly kind: NewMail['kind'];
  readonly recipient: string;
  readonly facts: NewMail['facts'];
  readonly lease_token: string;
  readonly attempts: number;
  readonly created_at: Date;
  readonly now: Date;
}

const leaseStatement = `
  UPDATE mail SET
    ${leases.take('$2')}
  WHERE id = (
    SELECT id FROM mail
    WHERE id = $1 AND state = 'pending' AND due_at <= clock_timestamp()
      AND ${leases.isFree()}
    FOR UPDATE SKIP LOCKED)
  RETURNING id, account_id, kind, recipient, facts, lease_token, attempts, created_at, clock_timestamp() AS now`;
