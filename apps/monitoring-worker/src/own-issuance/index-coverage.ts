import { type FollowedTo, lagS, takesNothing } from '@certwright/ct';
import type { DataSource } from 'typeorm';

/** What the index contains, if the logs keep their merge delays. */
export interface IndexCoverage {
  /** It follows logs since then. A log that is not read from its first entry lacks what it had when it was added. */
  readonly since: Date;
  /** Entries that the logs had published at this time were read. */
  readonly readTo: Date;
  /** Certificates that got an SCT before this time were read: each log had to publish them within its merge delay. */
  readonly loggedTo: Date;
}

interface CoveredLog extends FollowedTo {
  /** First entry that is read. */
  readonly startIndex: string;
}

/** @param logs those that are followed. @returns null: no log is followed that accepts certificates */
export function coverageOf(logs: readonly CoveredLog[], nowMs: number): IndexCoverage | null {
  const accepting = logs.filter((log) => !takesNothing(log, nowMs));
  if (accepting.length === 0) return null;
  const incomplete = accepting.filter(({ startIndex }) => startIndex !== '0');
  const lagsS = accepting.map((log) => lagS(log, nowMs));
  const completeS = accepting.map((log, nth) => (lagsS[nth] ?? 0) + log.mmdS);
  return {
    since: new Date(Math.max(Math.min(...accepting.map(addedMs)), ...incomplete.map(addedMs))),
    readTo: new Date(nowMs - 1_000 * Math.max(...lagsS)),
    loggedTo: new Date(nowMs - 1_000 * Math.max(...completeS)),
  };
}

const addedMs = ({ createdAt }: FollowedTo) => createdAt.getTime();

/** A log that stopped counts: what it has published since then is not in the index. */
export async function readCoverage(ct: Pick<DataSource, 'query'>): Promise<IndexCoverage | null> {
  const logs: (CoveredLog & { readonly nowMs: number })[] = await ct.query(
    `SELECT position, head_size AS "headSize", head_at AS "headAt", entry_at AS "entryAt", created_at AS "createdAt",
       start_index AS "startIndex",
       interval_end AS "intervalEnd", list_state AS "listState", mmd_s AS "mmdS",
       extract(epoch FROM clock_timestamp())::float8 * 1000 AS "nowMs"
     FROM ct_log WHERE enabled`,
  );
  const [first] = logs;
  return first === undefined ? null : coverageOf(logs, first.nowMs);
}
