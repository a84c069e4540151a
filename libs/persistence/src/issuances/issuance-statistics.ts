import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

export interface IssuanceStatistics {
  /** Open issuances by what they wait for. */
  readonly byPhase: Readonly<Record<'awaiting_approval' | 'issuing' | 'backoff', number>>;
  /** Open, due, and in nobody's hands. */
  readonly due: number;
  /** How long the oldest of them has been due, seconds. */
  readonly oldestDueS: number;
}

@Injectable()
export class IssuanceStatisticsReader {
  constructor(private readonly database: DataSource) {}

  async read(): Promise<IssuanceStatistics> {
    const [row] = await this.database.query<
      [{ awaiting: number; issuing: number; backoff: number; due: number; oldest: number }]
    >(
      `SELECT count(*) FILTER (WHERE failures > 0)::int AS backoff,
              count(*) FILTER (WHERE failures = 0 AND pending)::int AS awaiting,
              count(*) FILTER (WHERE failures = 0 AND NOT pending)::int AS issuing,
              count(*) FILTER (WHERE free AND due_at <= now())::int AS due,
              coalesce(extract(epoch FROM now() - min(due_at) FILTER (WHERE free AND due_at <= now())), 0)::float AS oldest
       FROM (SELECT failures, due_at, (leased_until IS NULL OR leased_until <= now()) AS free,
                    approvals @> '[{"status": "pending"}]' AS pending
             FROM issuance WHERE state = 'open') AS open`,
    );
    return {
      byPhase: { awaiting_approval: row.awaiting, issuing: row.issuing, backoff: row.backoff },
      due: row.due,
      oldestDueS: row.oldest,
    };
  }
}
