import { checkpointOrigin, type ListedLog as LogOfList, type LogList, logStates } from '@certwright/ct';
import type { ListedLog } from '../logs/ct-logs';
import { nameKey } from './per-log';

/** RFC 6962 logs whose list tells no maximum merge delay: all of them have a day. Static logs have a minute. */
const usualMmdS = { rfc6962: 86_400, static: 60 } as const;

/** What an integer of the database holds. */
const longestMmdS = 2 ** 31 - 1;

/** Characters of a description and of an operator's name: the longest known ones have 60. */
const longestName = 200;

/** A certificate that expires in a shard's last moment may be in a log for a while, ms. */
const afterIntervalMs = 86_400_000;

/** States and names: which logs of a list are wanted. */
export class WantedLogs {
  private readonly states: ReadonlySet<string>;
  private readonly names: ReadonlySet<string>;

  constructor(wanted: readonly string[]) {
    const keys = wanted.map(nameKey);
    const states: readonly string[] = [...logStates, 'unknown'];
    this.states = new Set(keys.filter((key) => states.includes(key)));
    this.names = new Set(keys.filter((key) => !states.includes(key)));
  }

  has(log: LogOfList): boolean {
    return (
      this.states.has(log.state ?? 'unknown') ||
      [log.description, ...urlsOf(log)].some((name) => this.names.has(nameKey(name)))
    );
  }
}

/**
 * What a list says, for the database. A shard whose certificates have all expired is not begun any more; one that was begun is read
 * to its end.
 *
 * @param begun ids (hexadecimal) of logs of which something was ingested
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
    // The first one counts where a list names a log twice.
    if (!logs.has(id)) logs.set(id, listed(log, wanted.has(log) && isWorthwhile));
  }
  // In one order, so that two processes that keep a list never wait for each other in a circle.
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

/** One log of which the list says something odd must not keep all the others from being stored. */
function isDelay(mmd: number | null): mmd is number {
  return Number.isInteger(mmd) && (mmd ?? 0) <= longestMmdS;
}

/** Without control characters: it becomes part of log lines, of metrics and of what operators see in a terminal. */
function nameIn(text: string): string {
  return text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, longestName)
    .toWellFormed();
}

/** The one where entries are read comes first. */
function urlsOf(log: LogOfList): readonly string[] {
  return log.api === 'static' ? [log.monitoringUrl, log.submissionUrl] : [log.url];
}
