import type { Phase } from '@certwright/issuance';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** The phases that an open issuance can be in. */
type OpenPhase = Exclude<Phase, 'idle' | 'failed'>;

export interface IssuanceStatistics {
  /** Open issuances by what they wait for. */
  readonly byPhase: Readonly<Record<OpenPhase, number>>;
  /** Open, due, and not leased. */
  readonly due: number;
  /** How long the oldest of them has been due, seconds. */
  readonly oldestDueS: number;
}

@Injectable()
export class IssuanceStatisticsReader {
  constructor(private readonly database: DataSource) {}

  async read(): Promise<IssuanceStatistics> {
    const [row] = await this.database.query<
      [{ by_phase: Partial<Record<OpenPhase, number>>; due: number; oldest: number }]
    >(
      `WITH open AS (
         SELECT CASE ${phaseCases} END AS phase, due_at,
           (leased_until IS NULL OR leased_until <= now()) AND due_at <= now() AS waiting
         FROM issuance JOIN plan ON plan.id = issuance.plan_id WHERE state = 'open'),
       counted AS (SELECT phase, count(*)::int AS count FROM open GROUP BY phase)
       SELECT (SELECT coalesce(jsonb_object_agg(phase, count), '{}') FROM counted) AS by_phase,
         count(*) FILTER (WHERE waiting)::int AS due,
         coalesce(extract(epoch FROM now() - min(due_at) FILTER (WHERE waiting)), 0)::float AS oldest
       FROM open`,
    );
    return {
      byPhase: { ...none, ...row.by_phase },
      due: row.due,
      oldestDueS: row.oldest,
    };
  }
}

const none = {
  awaiting_approval: 0,
  issuing: 0,
  backoff: 0,
  rate_limited: 0,
  paused: 0,
  awaiting_csr: 0,
} as const satisfies Record<OpenPhase, 0>;

/** phaseOf() in SQL. */
const phaseCases = `
  WHEN plan.paused THEN 'paused'
  WHEN plan.terms_id IS NULL THEN 'awaiting_csr'
  WHEN due_at > now() AND last_error->>'code' = 'rate_limited' THEN 'rate_limited'
  WHEN due_at > now() AND (failures > 0 OR waits_for IS NOT NULL) AND last_error->>'code' IS NOT NULL THEN 'backoff'
  WHEN approvals @> '[{"status": "pending"}]' THEN 'awaiting_approval'
  ELSE 'issuing'`;
