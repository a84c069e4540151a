import { isLagging, lagS } from '@certwright/ct';
import type { LogReport } from '@certwright/ct-schema';
import type { StreamEnd } from '@certwright/ct-index';
import { timestamp, timestampOrNull } from '../wire/timestamp';

/** Characters of what went wrong that are shown. */
const longestError = 500;

/** How the service keeps up, in the words of the API. */
export function statusJson(logs: readonly LogReport[], end: StreamEnd, now: Date): object {
  return {
    as_of: timestamp(now),
    issuances: {
      newest: end.newest,
      newest_at: timestampOrNull(end.discoveredAt),
      per_second: rounded(end.perSecond),
    },
    lagging: logs.some((log) => stateOf(log) === 'followed' && isLagging(log, now.getTime())),
    logs: logs.map((log) => logJson(log, now)),
  };
}

/** Sizes of logs fit the integers of JSON's numbers for some million years. */
function logJson(log: LogReport, now: Date): object {
  const state = stateOf(log);
  const [size, position] = [Number(log.headSize), Number(log.position)];
  const isFollowed = state === 'followed';
  return {
    description: log.description,
    operator: log.operator,
    kind: log.kind,
    url: log.url,
    log_id: log.logId.toString('base64'),
    list_state: log.listState,
    state,
    size,
    size_at: timestampOrNull(log.headAt),
    first: Number(log.startIndex),
    position,
    backlog: isFollowed ? Math.max(0, size - position) : null,
    verified_position: Number(log.verifiedSize),
    unverified_entries: Math.max(0, position - Number(log.verifiedSize)),
    entries_per_second: isFollowed ? rounded(log.entriesPerSecond) : 0,
    newest_entry_at: timestampOrNull(log.entryAt),
    odd_entries: Number(log.entriesOdd),
    lag_seconds: isFollowed ? Math.round(lagS(log, now.getTime())) : null,
    lagging: isFollowed && isLagging(log, now.getTime()),
    last_error: shortened(log.lastError),
    stopped_at: timestampOrNull(log.stoppedAt),
    stopped_reason: shortened(log.stoppedReason),
  };
}

/** `stopped`: something was wrong with it that no repetition mends. `ended`: no list names it any more, or it is not wanted. */
function stateOf({ enabled, stoppedAt }: LogReport): 'followed' | 'stopped' | 'ended' {
  if (stoppedAt !== null) return 'stopped';
  return enabled ? 'followed' : 'ended';
}

function rounded(perSecond: number): number {
  return Math.round(perSecond * 10) / 10;
}

function shortened(text: string | null): string | null {
  return text === null || text.length <= longestError
    ? text
    : `${text.slice(0, longestError).toWellFormed()}…`;
}
