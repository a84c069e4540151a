import { sha256 } from '@certwright/pki';
import { fromBase64 } from './bytes';

/** State in the list; the values are those of its schema. */
export const logStates = ['pending', 'qualified', 'usable', 'readonly', 'retired', 'rejected'] as const;
export type LogState = (typeof logStates)[number];

interface ListedLogHead {
  readonly operator: string;
  readonly description: string;
  /** SHA-256 over the key. */
  readonly logId: Buffer;
  /** DER SubjectPublicKeyInfo. */
  readonly key: Buffer;
  /** Maximum merge delay in seconds; null when absent. */
  readonly mmd: number | null;
  /**
   * Milliseconds since the epoch: certificates that expire from `start` to before `end` are accepted. Null: all
   * are.
   */
  readonly temporalInterval: { readonly start: number; readonly end: number } | null;
  /** Null when the list has no state, or an unknown one. */
  readonly state: LogState | null;
  /** Start of that state, milliseconds since the epoch. */
  readonly stateSince: number | null;
}

/** URLs end in a slash. */
export type ListedLog = ListedLogHead &
  (
    | { readonly api: 'rfc6962'; readonly url: string }
    | { readonly api: 'static'; readonly submissionUrl: string; readonly monitoringUrl: string }
  );

export type ListedLogFault = 'log_id' | 'key' | 'url' | 'temporal_interval';

export interface LogList {
  readonly version: string | null;
  /** Milliseconds since the epoch. */
  readonly timestamp: number | null;
  readonly logs: readonly ListedLog[];
  /** Skipped logs, by name as far as it is known. */
  readonly faults: readonly { readonly log: string; readonly fault: ListedLogFault }[];
}

/**
 * A log list in version 3 of the schema (www.gstatic.com/ct/log_list/v3/log_list_schema.json). Unknown
 * members are ignored. Null when it has no operators at all.
 */
export function readLogList(json: unknown): LogList | null {
  const { version, log_list_timestamp, operators } = membersOf(json);
  if (!Array.isArray(operators)) return null;
  const logs: ListedLog[] = [];
  const faults: { log: string; fault: ListedLogFault }[] = [];
  for (const each of operators) {
    const operator = membersOf(each);
    const add = (api: ListedLog['api']) => (log: unknown) => {
      const reading = readLog(membersOf(log), textOf(operator['name']), api);
      if (typeof reading === 'string') faults.push({ log: nameOf(membersOf(log)), fault: reading });
      else logs.push(reading);
    };
    listOf(operator['logs']).forEach(add('rfc6962'));
    listOf(operator['tiled_logs']).forEach(add('static'));
  }
  const timestamp = timeOf(log_list_timestamp);
  return { version: typeof version === 'string' ? version : null, timestamp, logs, faults };
}

type Members = Record<string, unknown>;

function readLog(log: Members, operator: string, api: ListedLog['api']): ListedLog | ListedLogFault {
  const key = fromBase64(log['key']);
  if (key === null || key.length === 0) return 'key';
  const logId = fromBase64(log['log_id']);
  // RFC 6962, section 3.2. If they differ, either the key or the id in the list is wrong.
  if (logId?.equals(sha256(key)) !== true) return 'log_id';
  const temporalInterval = readInterval(log['temporal_interval']);
  if (temporalInterval === undefined) return 'temporal_interval';
  const head = {
    operator,
    description: textOf(log['description']),
    logId,
    key,
    mmd: typeof log['mmd'] === 'number' && log['mmd'] >= 0 ? log['mmd'] : null,
    temporalInterval,
    ...readState(log['state']),
  };
  const [url, submissionUrl, monitoringUrl] = [log['url'], log['submission_url'], log['monitoring_url']].map(
    urlOf,
  );
  if (api === 'rfc6962') return url ? { ...head, api, url } : 'url';
  return submissionUrl && monitoringUrl ? { ...head, api, submissionUrl, monitoringUrl } : 'url';
}

/**
 * Undefined when the interval is present but unreadable: if it counted as absent, the log would be expected
 * to have certificates that it does not accept.
 */
function readInterval(interval: unknown): ListedLogHead['temporalInterval'] | undefined {
  if (interval === undefined || interval === null) return null;
  const { start_inclusive, end_exclusive } = membersOf(interval);
  const [start, end] = [timeOf(start_inclusive), timeOf(end_exclusive)];
  return start === null || end === null || end < start ? undefined : { start, end };
}

function readState(value: unknown): Pick<ListedLogHead, 'state' | 'stateSince'> {
  const states = membersOf(value);
  const state = logStates.find((word) => Object.hasOwn(states, word)) ?? null;
  return { state, stateSince: state === null ? null : timeOf(membersOf(states[state])['timestamp']) };
}

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function nameOf(log: Members): string {
  return textOf(log['description']) || textOf(log['url']) || textOf(log['submission_url']);
}

/** RFC 3339. */
function timeOf(value: unknown): number | null {
  if (
    typeof value !== 'string' ||
    !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(value)
  )
    return null;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? null : ms;
}

/**
 * Null unless it is an absolute HTTP or HTTPS URL without user, query and fragment: paths are appended.
 */
function urlOf(value: unknown): string | null {
  if (typeof value !== 'string' || !URL.canParse(value)) return null;
  const { protocol, username, password, href } = new URL(value);
  if (!['https:', 'http:'].includes(protocol) || username + password !== '' || /[?#]/.test(href)) return null;
  return href.endsWith('/') ? href : `${href}/`;
}
