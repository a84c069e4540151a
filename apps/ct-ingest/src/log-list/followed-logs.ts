import { checkpointOrigin, type ListedLog as LogOfList, type LogList, logStates } from '@certwright/ct';
import type { ListedLog } from '../logs/ct-logs';
import { nameKey } from './per-log';

/** For RFC 6962 logs without a maximum merge delay in their list: all use a day. Static logs use a minute. */
const usualMmdS = { rfc6962: 86_400, static: 60 } as const;

/** Range of a database integer. */
const maxMmdS = 2 ** 31 - 1;

/** Characters of a description and of an operator's name: the longest known ones have 60. */
const maxName = 200;

/** A certificate that expires at the end of a shard's interval may be logged for a while after, ms. */
const afterIntervalMs = 86_400_000;

/** States that select logs. */
export const selectableStates: readonly string[] = [...logStates, 'unknown'];

/** States and names that select logs of a list. */
export class WantedLogs {
  private readonly states: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;

  constructor(wanted: readonly string[]) {
    const keys = wanted.map(nameKey);
    this.states = new Set(keys.filter((key) => selectableStates.includes(key)));
    this.names = new Set(keys.filter((key) => !selectableStates.includes(key)));
  }

  has(log: LogOfList): boolean {
    return this.states.has(log.state ?? 'unknown') || namesOf(log).some((name) => this.names.has(name));
  }

  /** Names that no log has. @param known logs that were listed before */
  unknownNames(
    { logs }: LogList,
    known: readonly Pick<ListedLog, 'description' | 'url'>[],
  ): readonly string[] {
    const before = known.flatMap(({ description, url }) => [description, url].map(nameKey));
    const all = new Set([...logs.flatMap(namesOf), ...before]);
    return [...this.names].filter((name) => !all.has(name));
  }

  /** Whether logs are selected by their names alone. */
  get isOfNames(): boolean {
    return this.states.size === 0;
  }
}

/**
 * Converts a list to database rows. A shard whose certificates have all expired is not started; one that was started is read
 * to its end.
 *
 * @param begun ids (hexadecimal) of logs with ingested entries
 */
export function followedLogs(
  list: LogList,
  wanted: WantedLogs,
  begun: ReadonlySet<string>,
  nowMs: number,
): ListedLog[] {
  const logs = new Map<string, ListedLog>();
  for (const log of list.logs) {
    const id = log.logId.toString('hex');
    const end = log.temporalInterval?.end ?? Infinity;
    const isWorthwhile = end + afterIntervalMs > nowMs || begun.has(id);
    // If a list contains a log twice, the first one counts.
    if (!logs.has(id)) logs.set(id, listed(log, wanted.has(log) && isWorthwhile));
  }
  // A fixed order prevents deadlocks between two processes that store a list.
  return [...logs].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, log]) => log);
}

function listed(log: LogOfList, enabled: boolean): ListedLog {
  const [url = ''] = urlsOf(log);
  const { temporalInterval: interval } = log;
  return {
    logId: log.logId,
    description: nameIn(log.description) || url,
    operator: nameIn(log.operator),
    kind: log.api,
    url,
    origin: log.api === 'static' ? checkpointOrigin(log.submissionUrl) : null,
    keyDer: log.key,
    mmdS: isDelay(log.mmd) ? log.mmd : usualMmdS[log.api],
    intervalStart: interval === null ? null : new Date(interval.start),
    intervalEnd: interval === null ? null : new Date(interval.end),
    listState: log.state ?? 'unknown',
    enabled,
  };
}

/** An invalid value for one log must not prevent the others from being stored. */
function isDelay(mmd: number | null): mmd is number {
  return Number.isInteger(mmd) && (mmd ?? 0) <= maxMmdS;
}

/** Removes control characters: the text is used in log lines, metrics and terminals. */
function nameIn(text: string): string {
  return text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, maxName)
    .toWellFormed();
}

const namesOf = (log: LogOfList): readonly string[] => [log.description, ...urlsOf(log)].map(nameKey);

/** The URL for reading entries comes first. */
function urlsOf(log: LogOfList): readonly string[] {
  return log.api === 'static' ? [log.monitoringUrl, log.submissionUrl] : [log.url];
}
