import { isLagging, lagS } from '@certwright/ct';
import { type LogReport, logReports } from '@certwright/ct-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CtDatabase } from '../ct-database/ct-database.module';

/** How far `monitoring-worker` matched the index. */
export interface Follower {
  readonly followed_to: Date;
  /** Since `followed_to`, seconds. */
  readonly lag_s: number;
  /** Since its position was last written, seconds. */
  readonly unmoved_s: number;
  /** Whether a process holds the lease of the loop. */
  readonly is_leased: boolean;
}

/** A batch takes seconds: a follower that wrote nothing for so long does not work. */
const maxUnmovedS = 300;

export const isWatching = (follower: Follower | null): boolean =>
  follower !== null && follower.is_leased && follower.unmoved_s <= maxUnmovedS;

const isFollowed = ({ enabled, stoppedAt }: LogReport): boolean => enabled && stoppedAt === null;

/**
 * How much older than its logs the index is, seconds; 0: not at all. Browsers require that a certificate is in logs of at least
 * two operators, so certificates are missed when logs of two operators lag, or all logs do. One log that is down delays
 * nothing else.
 */
export function indexDelayS(logs: readonly LogReport[], nowMs: number): number {
  const running = logs.filter(isFollowed);
  // When all are stopped, the index is as old as they are.
  const followed = running.length > 0 ? running : logs.filter(({ enabled }) => enabled);
  const lagging = followed.filter((log) => isLagging(log, nowMs));
  if (lagging.length === 0) return 0;
  const delayS = (log: LogReport) => Math.max(0, lagS(log, nowMs) - log.mmdS);
  const byOperator = [...Map.groupBy(lagging, ({ operator }) => operator).values()]
    .map((ofOperator) => Math.max(...ofOperator.map(delayS)))
    .sort((one, other) => other - one);
  if (lagging.length === followed.length)
    return Math.max(byOperator[1] ?? 0, Math.min(...lagging.map(delayS)));
  return byOperator[1] ?? 0;
}

/** Logs that are not read up to their end. */
export function troubledLogs(logs: readonly LogReport[], nowMs: number): readonly LogReport[] {
  return logs.filter((log) => log.stoppedAt !== null || (isFollowed(log) && isLagging(log, nowMs)));
}

/** How long log reports are kept, ms: the database is queried once, however many requests there are. */
const keptMs = 1_000;

/** What of the index was matched, and what of the logs the index has. */
@Injectable()
export class Following {
  private kept: { readonly logs: Promise<readonly LogReport[] | null>; readonly untilMs: number } | undefined;

  constructor(
    private readonly database: DataSource,
    private readonly ct: CtDatabase,
  ) {}

  /** Null: the worker has never started to follow. */
  async follower(): Promise<Follower | null> {
    const [row] = await this.database.query<Follower[]>(
      `SELECT followed_to, extract(epoch FROM greatest(now() - followed_to, interval '0'))::float8 AS lag_s,
         extract(epoch FROM now() - moved_at)::float8 AS unmoved_s,
         coalesce(leased_until > now(), false) AS is_leased
       FROM monitoring_follower JOIN monitoring_task ON task = 'following'`,
    );
    return row ?? null;
  }

  /** Of the database, ms since 1970: the clock of this process may be off by hours. */
  async nowMs(): Promise<number> {
    const [row] = await this.database.query<[{ ms: number }]>(
      `SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms`,
    );
    return row.ms;
  }

  /** Null while the ct database is down. */
  async logs(): Promise<readonly LogReport[] | null> {
    const nowMs = performance.now();
    if (this.kept === undefined || nowMs >= this.kept.untilMs)
      this.kept = { logs: this.ct.read(logReports), untilMs: nowMs + keptMs };
    return await this.kept.logs;
  }
}
