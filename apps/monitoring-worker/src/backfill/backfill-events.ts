import type { RunningProcess } from '@certwright/service';
import { Counter, Gauge } from 'prom-client';
import type { Backfills, OpenBackfill } from './backfills.repository';

export interface BackfillEvents {
  /** @param issuances that may concern the domain */
  matched: (issuances: number) => void;
  ended: (backfill: OpenBackfill, state: 'done' | 'canceled') => void;
  incomplete: (positions: readonly string[]) => void;
}

/** Injection token. */
export const BackfillEvents = Symbol('BackfillEvents');

/** Log lines and metrics. */
export function observeBackfills(
  { log, metrics: { registry } }: RunningProcess,
  backfills: Pick<Backfills, 'countOpen'>,
): BackfillEvents {
  const registers = [registry];
  const issuances = new Counter({
    name: 'certwright_monitoring_backfill_matched_total',
    help: 'Issuances that were compared with the monitored domains of an account that changed them',
    registers,
  });
  const ended = new Counter({
    name: 'certwright_monitoring_backfills_total',
    help: 'Backfills that ended: done, canceled',
    labelNames: ['state'],
    registers,
  });
  new Gauge({
    name: 'certwright_monitoring_backfills_open',
    help: 'Backfills that are waiting or running; every copy reports the same',
    registers,
    async collect() {
      // The database is unavailable: no value.
      const open = await backfills.countOpen().catch(() => null);
      if (open === null) this.reset();
      else this.set(open);
    },
  });
  return {
    matched: (count) => issuances.inc(count),
    ended: ({ changeId, account, name }, state) => {
      ended.inc({ state });
      log.info({ backfill: changeId, account, name, state }, 'backfill ended');
    },
    incomplete: (positions) =>
      log.warn(
        { positions: positions.slice(0, 10), count: positions.length },
        'certificates with too many unusual names',
      ),
  };
}
