import type { CrlCounts } from './store/ct-crls';
import type { RunningProcess } from '@certwright/service';
import { Counter, Gauge } from 'prom-client';
import type { CrlEvents, CrlWatchEvents } from './crl-events';

/** Log lines and metrics of fetching. */
export function observeCrls({ log: lines, metrics: { registry } }: RunningProcess): CrlEvents {
  const fetches = new Counter({
    name: 'certwright_ct_crl_fetches_total',
    help: 'Revocation lists that this process requested, by outcome',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const changes = new Counter({
    name: 'certwright_ct_crl_changes_total',
    help: 'Revocations that this process added or removed',
    labelNames: ['change'],
    registers: [registry],
  });
  return {
    applied: ({ url }, applied, tookMs) => {
      fetches.inc({ outcome: applied.outcome });
      if (applied.outcome !== 'applied') return;
      const { entries, added, removed } = applied;
      changes.inc({ change: 'added' }, added);
      changes.inc({ change: 'removed' }, removed);
      lines.debug({ url, entries, added, removed, took_ms: Math.round(tookMs) }, 'revocation list applied');
    },
    unchanged: () => fetches.inc({ outcome: 'unchanged' }),
    refused: ({ url }, problem, restMs) => {
      fetches.inc({ outcome: 'refused' });
      lines.warn({ url, problem, rest_ms: restMs }, 'revocation list refused');
    },
    unavailable: ({ url }, problem, restMs) => {
      fetches.inc({ outcome: 'unavailable' });
      lines.info({ url, problem, rest_ms: restMs }, 'revocation list unavailable');
    },
    failed: ({ url }, error) => {
      fetches.inc({ outcome: 'stumbled' }); // language: value of a metric
      lines.error({ url, err: error }, 'unexpected error; retrying');
    },
  };
}

const states = ['wanted', 'fresh', 'stale', 'failing', 'overdue'] as const satisfies (keyof CrlCounts)[];

/** State in the database: every copy reports the same. A line with `alarm` requires an operator. */
export function watchedCrls({ log: lines, metrics: { registry } }: RunningProcess): CrlWatchEvents {
  const lists = new Gauge({
    name: 'certwright_ct_crls',
    help: 'Revocation lists that are needed; of those the ones that are fresh, out of date, not to be had, an hour overdue',
    labelNames: ['state'],
    registers: [registry],
  });
  const entries = new Gauge({
    name: 'certwright_ct_crl_entries',
    help: 'Revocations on all lists together',
    registers: [registry],
  });
  return {
    counted: (counts) => {
      for (const state of states) lists.set({ state }, counts[state]);
      entries.set(counts.entries);
    },
    wentStale: ({ url, nextUpdate, lastError }) =>
      lines.error(
        { url, alarm: 'crl_stale', next_update: nextUpdate, problem: lastError },
        'ALARM: revocation list out of date; its certificates have no known status',
      ),
    freshAgain: ({ url }) =>
      lines.info({ url, alarm_over: 'crl_stale' }, 'revocation list is up to date again'),
  };
}
