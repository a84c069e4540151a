import { isLagging, lagS } from '@certwright/ct';
import type { LogReport } from '@certwright/ct-schema';
import type { StreamEnd } from '@certwright/ct-index';
import { instant, integer, orNull, text, timestamp, timestampOrNull } from '@certwright/issuance-json';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';

/** Max characters of an error. */
const maxErrorLength = 500;

/** `stopped`: a violation that no retry resolves. `ended`: it is no longer listed or selected. */
const logStates = ['followed', 'stopped', 'ended'] as const;
type LogState = (typeof logStates)[number];

@ApiSchema({ name: 'Log' })
class LogSchema {
  @ApiProperty({ description: 'What the log list calls it.' }) readonly description: string;
  @ApiProperty({ description: 'Who runs it.' }) readonly operator: string;
  @ApiProperty({ enum: ['rfc6962', 'static'], description: 'Which API it has.' })
  readonly kind: LogReport['kind'];
  @ApiProperty({ description: 'Where its entries are read.' }) readonly url: string;
  @ApiProperty({ description: 'Base64 of the SHA-256 of its key.' }) readonly log_id: string;
  @ApiProperty({ description: 'Its state in the log list.' }) readonly list_state: string;
  @ApiProperty({
    enum: logStates,
    description:
      'stopped: it violated a guarantee of its log protocol, and an operator has to intervene; ended: no list names it any more, or it is not wanted.',
  })
  readonly state: LogState;
  @ApiProperty(integer('Entries, by its newest signed tree head that was verified.')) readonly size: number;
  @ApiProperty(orNull(instant, 'When that head was signed.')) readonly size_at: string | null;
  @ApiProperty(integer('Index of the first entry that is read.')) readonly first: number;
  @ApiProperty(integer('Index of the next entry that is read.')) readonly position: number;
  @ApiProperty(orNull(integer, 'Entries that are still to be read.')) readonly backlog: number | null;
  @ApiProperty(
    integer(
      'Up to here the log has proved that its entries are part of the tree that it has signed. Entries are stored once that is so.',
    ),
  )
  readonly verified_position: number;

  @ApiProperty(
    integer(
      'Entries between verified_position and position. They can be found already: 0 unless the log refuses proofs. When it is stopped, what it alone has is removed.',
    ),
  )
  readonly unverified_entries: number;

  @ApiProperty({ description: 'Entries that are being read, an average over about a minute.' })
  readonly entries_per_second: number;

  @ApiProperty(orNull(instant, 'Timestamp of the newest entry that was read.'))
  readonly newest_entry_at: string | null;

  @ApiProperty(integer('Entries that could not be read as what they are said to be.'))
  readonly odd_entries: number;
  @ApiProperty(orNull(integer, 'How old what is known of the log is.')) readonly lag_seconds: number | null;
  @ApiProperty({ description: 'Whether that is more than the log itself explains.' })
  readonly lagging: boolean;
  @ApiProperty(orNull(text, 'Why the last turn ended early.')) readonly last_error: string | null;
  @ApiProperty(orNull(instant, 'Since when it is stopped.')) readonly stopped_at: string | null;
  @ApiProperty(orNull(text, 'Why it is stopped.')) readonly stopped_reason: string | null;
}

@ApiSchema({ name: 'IssuanceCounts' })
class IssuanceCountsSchema {
  @ApiProperty(orNull(text, 'Id of the newest issuance.')) readonly newest: string | null;
  @ApiProperty(orNull(instant, 'When it was discovered.')) readonly newest_at: string | null;
  @ApiProperty({ description: 'New issuances, averaged over about a minute.' })
  readonly per_second: number;
}

@ApiSchema({ name: 'Status' })
export class StatusSchema {
  @ApiProperty(
    instant(
      'Until when the data is complete: when it was read or, from a replica, the time of the newest transaction that it has.',
    ),
  )
  readonly as_of: string;
  @ApiProperty() readonly issuances: IssuanceCountsSchema;
  @ApiProperty({ description: 'Whether any log that is followed lags.' }) readonly lagging: boolean;
  @ApiProperty({ type: [LogSchema], description: 'All logs that are or were followed.' })
  readonly logs: readonly LogSchema[];
}

/** Progress of reading the logs. */
export function statusJson(logs: readonly LogReport[], end: StreamEnd, asOf: Date, now: Date): StatusSchema {
  return {
    as_of: timestamp(asOf),
    issuances: {
      newest: end.newest,
      newest_at: timestampOrNull(end.discoveredAt),
      per_second: rounded(end.perSecond),
    },
    lagging: logs.some((log) => stateOf(log) === 'followed' && isLagging(log, now.getTime())),
    logs: logs.map((log) => logJson(log, now)),
  };
}

/** Log sizes are exact as JSON numbers for some million years. */
function logJson(log: LogReport, now: Date): LogSchema {
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

function stateOf({ enabled, stoppedAt }: LogReport): LogState {
  if (stoppedAt !== null) return 'stopped';
  return enabled ? 'followed' : 'ended';
}

function rounded(perSecond: number): number {
  return Math.round(perSecond * 10) / 10;
}

function shortened(text: string | null): string | null {
  return text === null || text.length <= maxErrorLength
    ? text
    : `${text.slice(0, maxErrorLength).toWellFormed()}…`;
}
