import type { RunningProcess } from '@certwright/service';
import { Gauge } from 'prom-client';
import type { IndexReader, IndexReaders } from './index-readers';

/** Less than the 3 s in which a metric has to be read. */
const timeLimitMs = 2_000;

/** Of the data: a replica has what was committed until then. ct-ingest commits at least once per poll of a log. */
export async function replayedAt(
  reader: IndexReader,
): Promise<{ readonly at: Date; readonly isReplica: boolean }> {
  const [replayed] = await reader.query<[{ at: Date; isReplica: boolean }]>(
    `SELECT pg_is_in_recovery() AS "isReplica",
       CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time())
       ELSE clock_timestamp() END AS at`,
  );
  return replayed;
}

export function observeDataAge(
  readers: IndexReaders,
  { registry }: Pick<RunningProcess['metrics'], 'registry'>,
): void {
  new Gauge({
    name: 'certwright_ct_data_age_seconds',
    help: 'How far the ct database that this process reads is behind the primary; 0: it is the primary',
    registers: [registry],
    async collect() {
      const { at, isReplica } = await replayedAt(readers.within({ kind: 'status', timeLimitMs }));
      this.set(isReplica ? Math.max(0, (Date.now() - at.getTime()) / 1_000) : 0);
    },
  });
}
