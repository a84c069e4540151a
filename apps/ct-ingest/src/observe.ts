import { lagS } from '@certwright/ct';
import type { CtLogEntity } from '@certwright/ct-schema';
import type { RunningProcess } from '@certwright/service';
import { Counter, Gauge } from 'prom-client';
import type { FollowEvents } from './following/follow-events';
import type { Evidence } from './log-api/log-faults';
import type { ListEvents } from './log-list/keep-log-list';
import type { WatchEvents } from './watch/watch-logs';

const labelNames = ['log'] as const;
const nameOf = ({ id, description, kind }: CtLogEntity) => ({ log: id, description, kind });

/** Log lines and metrics of following. A line with `alarm` requires an operator. */
export function observeFollowing({ log: lines, metrics: { registry } }: RunningProcess): FollowEvents {
  const registers = [registry];
  const entries = new Counter({
    name: 'certwright_ct_entries_total',
    help: 'Entries that this process ingested, by outcome',
    labelNames: [...labelNames, 'outcome'],
    registers,
  });
  const issuances = new Counter({
    name: 'certwright_ct_issuances_total',
    help: 'Issuances that are new (discovered), or were known only as a precertificate (completed)',
    labelNames: ['outcome'],
    registers,
  });
  const failures = new Counter({
    name: 'certwright_ct_log_failures_total',
    help: 'Turns that ended since the log returned nothing usable',
    labelNames,
    registers,
  });
  const misbehaviours = new Counter({
    name: 'certwright_ct_log_misbehaviours_total',
    help: 'Logs that were stopped: rollback, fork, root',
    labelNames: [...labelNames, 'kind'],
    registers,
  });
  const unprovenHeads = new Counter({
    name: 'certwright_ct_log_unproven_heads_total',
    help: 'Signed heads that a log did not prove to be consistent with the others when it served them',
    labelNames,
    registers,
  });
  return {
    began: (log, index) => lines.info({ ...nameOf(log), index }, 'log started'),
    ingested: ({ description }, outcomes, { discovered, completed }) => {
      for (const [outcome, count] of Object.entries(outcomes))
        entries.inc({ log: description, outcome }, count);
      issuances.inc({ outcome: 'discovered' }, discovered);
      issuances.inc({ outcome: 'completed' }, completed);
    },
    verified: (log, size) => lines.debug({ ...nameOf(log), size }, 'root verified'),
    unavailable: (log, problem, restMs) => {
      failures.inc({ log: log.description });
      lines.warn({ ...nameOf(log), problem, rest_ms: restMs }, 'log unavailable');
    },
    unproven: (log, { message, evidence }) => {
      unprovenHeads.inc({ log: log.description });
      const fields = { ...nameOf(log), alarm: 'head_unproven', problem: message, ...signedBy(evidence) };
      lines.error(fields, 'ALARM: signed head without a proof; it is requested again');
    },
    stopped: (log, { kind, message, evidence }) => {
      misbehaviours.inc({ log: log.description, kind });
      const fields = { ...nameOf(log), alarm: 'log_stopped', kind, problem: message, ...signedBy(evidence) };
      lines.error(fields, 'ALARM: log stopped');
    },
    leaseLost: (log) => lines.warn(nameOf(log), 'lease lost; another process continues'),
    restored: () =>
      lines.warn(
        {},
        'the index lacks what this process stored, as after a restoration or the restart of a log; caches are dropped',
      ),
    failed: (log, error) => lines.error({ ...nameOf(log), err: error }, 'unexpected error; retrying'),
  };
}

/** Heads are text. */
function signedBy({ head, kept }: Evidence): object {
  return { head: head.signed.toString('utf8'), kept_head: kept?.signed.toString('utf8') };
}

export function observeList({ log: lines }: RunningProcess): ListEvents {
  return {
    kept: (followed, listed) => lines.info({ followed, listed }, 'log list'),
    faulty: (log, fault) => lines.warn({ log, fault }, 'log skipped: its list entry is invalid'),
    unknown: (name) => lines.warn({ name }, 'LOGS names an unknown log'),
  };
}

/** State of each log in the database: every copy reports the same. */
const gauges = {
  size: ['Entries of the newest signed head', ({ headSize }) => Number(headSize)],
  position: ['Entries up to which the log is ingested', ({ position }) => Number(position)],
  backlog: ['Entries that are signed and not ingested', backlog],
  verified_size: [
    'Entries that were seen to hash to a signed root',
    ({ verifiedSize }) => Number(verifiedSize),
  ],
  odd_entries: ['Entries that could not be read', ({ entriesOdd }) => Number(entriesOdd)],
  failures_in_a_row: ['Turns in a row without a usable response', ({ failures }) => failures],
  unverified: [
    'Entries that can be found though the log has not proved them',
    ({ position, verifiedSize }) => Math.max(0, Number(position) - Number(verifiedSize)),
  ],
  stopped: ['1: an operator has to look', ({ stoppedAt }) => (stoppedAt === null ? 0 : 1)],
  lag_seconds: ['How old what we know of the log is', (log) => lagS(log, Date.now())],
  entries_per_second: ['Entries ingested, averaged over about a minute', entriesPerSecond],
} as const satisfies Record<string, readonly [string, (log: CtLogEntity) => number]>;

export function observeLogs({ log: lines, metrics: { registry } }: RunningProcess): WatchEvents {
  const registered = Object.entries(gauges).map(([name, [help, of]]) => {
    const gauge = new Gauge({ name: `certwright_ct_log_${name}`, help, labelNames, registers: [registry] });
    return { gauge, of };
  });
  const late = new Gauge({
    name: 'certwright_ct_log_late_seconds',
    help: 'How long entries have been signed that are not ingested, or the head could not be fetched, since this process watches',
    ...{ labelNames, registers: [registry] },
  });
  return {
    seen: (logs, lateMs) => {
      for (const { gauge } of registered) gauge.reset();
      late.reset();
      for (const log of logs.filter(({ enabled }) => enabled)) {
        for (const { gauge, of } of registered) gauge.set({ log: log.description }, of(log));
        late.set({ log: log.description }, (lateMs.get(log.id) ?? 0) / 1_000);
      }
    },
    lags: (log, lateMs) => {
      const [late_s, problem] = [Math.round(lateMs / 1_000), log.lastError];
      const facts = { ...nameOf(log), alarm: 'log_lags', backlog: backlog(log), late_s, problem };
      lines.error(facts, 'ALARM: log lags');
    },
    caughtUp: (log) => lines.info({ ...nameOf(log), alarm_over: 'log_lags' }, 'log no longer lags'),
    fails: (log) =>
      lines.error(
        { ...nameOf(log), alarm: 'log_fails', failures: log.failures, problem: log.lastError },
        'ALARM: log returns nothing usable',
      ),
    recovered: (log) => lines.info({ ...nameOf(log), alarm_over: 'log_fails' }, 'log responds again'),
  };
}

function backlog({ headSize, position }: CtLogEntity): number {
  return Math.max(0, Number(headSize) - Number(position));
}

/** The stored average, decayed by the idle time since. */
function entriesPerSecond({ entriesPerSecond: average, ingestedAt }: CtLogEntity): number {
  return ingestedAt === null ? 0 : average * Math.exp((ingestedAt.getTime() - Date.now()) / 60_000);
}
