import type { EntityManager } from 'typeorm';
import type { CtLogKind } from './ct-log.entity';

/** Public progress of a log. Sizes and positions are decimal. */
export interface LogReport {
  readonly logId: Buffer;
  readonly description: string;
  readonly operator: string;
  readonly kind: CtLogKind;
  readonly url: string;
  readonly listState: string;
  readonly enabled: boolean;
  readonly mmdS: number;
  readonly intervalEnd: Date | null;
  readonly startIndex: string;
  readonly position: string;
  readonly verifiedSize: string;
  readonly headSize: string;
  readonly headAt: Date | null;
  readonly entryAt: Date | null;
  /** As of now. */
  readonly entriesPerSecond: number;
  readonly entriesOdd: string;
  readonly lastError: string | null;
  readonly stoppedAt: Date | null;
  readonly stoppedReason: string | null;
  readonly createdAt: Date;
}

/** Seconds after which nothing is left of a rate. PostgreSQL refuses an exponential that is too small for a float8. */
const forgottenAfterS = 1_200;

/** What is left of a rate after some seconds, in SQL: a share of it, which falls to 1/e in a minute. */
export function leftOver(seconds: string): string {
  return `exp(-least(${forgottenAfterS}, ${seconds}) / 60)`;
}

/** All logs that are or were followed, in the order in which they became known. */
export async function logReports(reader: Pick<EntityManager, 'query'>): Promise<readonly LogReport[]> {
  return await reader.query(
    `SELECT log_id AS "logId", description, operator, kind, url, list_state AS "listState", enabled, mmd_s AS "mmdS",
       interval_end AS "intervalEnd", start_index AS "startIndex", position, verified_size AS "verifiedSize",
       head_size AS "headSize", head_at AS "headAt", entry_at AS "entryAt", entries_odd AS "entriesOdd",
       coalesce(entries_per_second * ${leftOver('quiet_s')}, 0)::float8 AS "entriesPerSecond",
       last_error AS "lastError", stopped_at AS "stoppedAt", stopped_reason AS "stoppedReason", created_at AS "createdAt"
     FROM ct_log, LATERAL (SELECT extract(epoch FROM greatest(now() - ingested_at, interval '0'))::float8 AS quiet_s) AS quiet
     ORDER BY id`,
  );
}
