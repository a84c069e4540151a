import { isLagging, lagS, takesNothing } from '@certwright/ct';
import type { LogReport } from '@certwright/ct-schema';
import { backfillStates, type BackfillState } from '@certwright/core-schema';
import { type EndpointState, endpointStates } from '@certwright/endpoint-checks';
import { timestamp } from '@certwright/service';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { type Follower, indexDelayS, isWatching, troubledLogs } from './following';
import type { AccountUsage, OpenBackfill } from './status.repository';

const instant: ApiPropertyOptions = { type: String, format: 'date-time' };
const count: ApiPropertyOptions = { type: 'integer', minimum: 0 };

/** A log of which the index does not have everything. */
export class TroubledLogSchema {
  @ApiProperty()
  description: string;

  @ApiProperty()
  operator: string;

  @ApiProperty()
  url: string;

  @ApiProperty({ enum: ['lagging', 'stopped'], description: 'stopped: the operator has to intervene.' })
  state: 'lagging' | 'stopped';

  @ApiProperty({ ...instant, nullable: true, description: 'Everything that it logged until then was read.' })
  read_to: string | null;
}

/** Matching of what the index had before a domain was monitored. */
export class OpenBackfillSchema {
  @ApiProperty({ example: '.example.com' })
  monitored_domain: string;

  @ApiProperty({ enum: ['waiting', 'running'] })
  state: string;

  @ApiProperty({ ...count, description: 'Certificates so far.' })
  found: number;

  @ApiProperty({ ...count, description: 'Unknown ones of these.' })
  unknown: number;

  @ApiProperty(instant)
  since: string;
}

/** Checks of the endpoints of the account. */
export class EndpointChecksSchema {
  @ApiProperty({
    type: 'object',
    properties: Object.fromEntries(
      endpointStates.map((state) => [state, { type: 'integer' as const, minimum: 0 }]),
    ),
    required: [...endpointStates],
    additionalProperties: { type: 'integer', minimum: 0 },
    description: 'Number of endpoints in each state; more states may be added.',
  })
  states: Readonly<Record<EndpointState, number>>;

  @ApiProperty({ ...count, description: 'How long the endpoint that waits longest has been due.' })
  late_seconds: number;

  @ApiProperty({
    ...instant,
    nullable: true,
    description:
      'Since when a report about an endpoint of the account is held back, because so many endpoints of the platform turned bad at once that the checks may be wrong. Null: none is.',
  })
  held_since: string | null;
}

class CountsSchema {
  @ApiProperty(count)
  monitored_domains: number;

  @ApiProperty(count)
  endpoints: number;

  @ApiProperty({
    ...count,
    description: 'Certificates that were found today, in UTC; tests are not counted.',
  })
  findings_per_day: number;
}

export class MonitoringLimitsSchema extends CountsSchema {}

export class MonitoringUsageSchema extends CountsSchema {
  @ApiProperty({ ...count, description: 'Certificates of today beyond the limit: only counted.' })
  throttled: number;
}

export class MonitoringStatusSchema {
  @ApiProperty({ description: 'Whether new certificates are being matched.' })
  watching: boolean;

  @ApiProperty({
    ...instant,
    nullable: true,
    description: 'Everything that was in the index then was matched.',
  })
  followed_to: string | null;

  @ApiProperty({ ...count, nullable: true, description: 'Since followed_to.' })
  lag_seconds: number | null;

  @ApiProperty({
    type: [TroubledLogSchema],
    nullable: true,
    description: 'Logs that are not read up to their end. Null: the index is unavailable.',
  })
  logs: readonly TroubledLogSchema[] | null;

  @ApiProperty({ type: [OpenBackfillSchema], description: 'Open ones, the first 100.' })
  backfills: readonly OpenBackfillSchema[];

  @ApiProperty({ type: EndpointChecksSchema })
  endpoints: EndpointChecksSchema;

  @ApiProperty({ type: MonitoringLimitsSchema })
  limits: MonitoringLimitsSchema;

  @ApiProperty({ type: MonitoringUsageSchema })
  usage: MonitoringUsageSchema;
}

/** How far the certificates before a domain was monitored were matched. */
export class DomainBackfillSchema {
  @ApiProperty({ enum: backfillStates })
  state: BackfillState;

  @ApiProperty(count)
  found: number;

  @ApiProperty(count)
  unknown: number;
}

/** With `expand=status`. */
export class MonitoredDomainStatusSchema {
  @ApiProperty({
    ...instant,
    nullable: true,
    description: 'From then on, new certificates are matched with it. Null: not yet, or disabled.',
  })
  followed_since: string | null;

  @ApiProperty({
    type: Boolean,
    nullable: true,
    description:
      'Whether the index has every certificate that has not expired. Null: the index is unavailable.',
  })
  complete: boolean | null;

  @ApiProperty({
    ...instant,
    nullable: true,
    description:
      'Of an index that is not complete: it has every certificate that was logged since then. Null: it is complete, or behind the logs.',
  })
  holds_since: string | null;

  @ApiProperty({ type: DomainBackfillSchema, nullable: true })
  backfill: DomainBackfillSchema | null;

  @ApiProperty({ ...count, description: 'All that were found and are kept.' })
  certificates: number;

  @ApiProperty({ ...count, description: 'Unknown ones of these.' })
  unknown: number;

  @ApiProperty({
    description: 'Whether certificates of the account were only counted today, beyond its limit.',
  })
  throttled: boolean;
}

export interface StatusFacts {
  readonly follower: Follower | null;
  readonly logs: readonly LogReport[] | null;
  readonly backfills: readonly OpenBackfill[];
  readonly account: AccountUsage;
}

export function statusJson(
  { follower, logs, backfills, account }: StatusFacts,
  now: Date,
): MonitoringStatusSchema {
  return {
    watching: isWatching(follower),
    followed_to: timestamp(follower?.followed_to ?? null),
    lag_seconds: follower === null ? null : Math.round(follower.lag_s),
    logs: logs === null ? null : troubledLogs(logs, now.getTime()).map((log) => logJson(log, now)),
    backfills: backfills.map(({ name, state, found, unknown, created_at }) => ({
      monitored_domain: name,
      state,
      found,
      unknown,
      since: timestamp(created_at),
    })),
    endpoints: endpointChecksJson(account, now),
    limits: {
      monitored_domains: account.max_monitored_domains,
      endpoints: account.max_monitored_endpoints,
      findings_per_day: account.max_findings_per_day,
    },
    usage: {
      monitored_domains: account.monitored_domains,
      endpoints: Object.values(account.endpoints).reduce((sum, each) => sum + each, 0),
      findings_per_day: account.found,
      throttled: account.throttled,
    },
  };
}

function endpointChecksJson(
  { endpoints, check_due_at, held_since }: AccountUsage,
  now: Date,
): EndpointChecksSchema {
  const lateMs = check_due_at === null ? 0 : now.getTime() - check_due_at.getTime();
  return {
    states: { ...noEndpoints, ...endpoints },
    late_seconds: Math.max(0, Math.round(lateMs / 1_000)),
    held_since: timestamp(held_since),
  };
}

const noEndpoints = {
  not_checked: 0,
  ok: 0,
  suspect: 0,
  failing: 0,
  unreachable: 0,
  gone: 0,
} as const satisfies Record<EndpointState, number>;

function logJson(log: LogReport, now: Date): TroubledLogSchema {
  const { description, operator, url, stoppedAt, entryAt } = log;
  const isStopped = stoppedAt !== null || !isLagging(log, now.getTime());
  const readTo = isStopped ? entryAt : new Date(now.getTime() - 1_000 * lagS(log, now.getTime()));
  return { description, operator, url, state: isStopped ? 'stopped' : 'lagging', read_to: timestamp(readTo) };
}

/** Whether the index has every certificate that has not expired, and else since when it has all. */
export function completeness(
  logs: readonly LogReport[] | null,
  now: Date,
): Pick<MonitoredDomainStatusSchema, 'complete' | 'holds_since'> {
  if (logs === null) return { complete: null, holds_since: null };
  // It lacks new certificates, or has not been filled yet.
  if (indexDelayS(logs, now.getTime()) > 0) return { complete: false, holds_since: null };
  const started = logs.filter(
    (log) => log.enabled && log.startIndex !== '0' && !takesNothing(log, now.getTime()),
  );
  if (logs.length > 0 && started.length === 0) return { complete: true, holds_since: null };
  // A log that was added has what was logged since then, if not more.
  const since = started.map(({ createdAt }) => createdAt.getTime());
  return {
    complete: false,
    holds_since: since.length === 0 ? null : timestamp(new Date(Math.max(...since))),
  };
}
