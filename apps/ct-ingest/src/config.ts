import { availableParallelism } from 'node:os';
import { bodyPackings } from '@certwright/ct-index';
import { logStates } from '@certwright/ct';
import {
  databaseUrl,
  defineSettings,
  durationMs,
  filePath,
  hostPort,
  integer,
  list,
  network,
  oneOf,
  poolerSettings,
  processSettings,
  SettingsError,
  type SettingValues,
  string,
} from '@certwright/service';
import { perLog, type PerLog } from './log-list/per-log';
import { readStart, type Start } from './following/start-point';

/** The list that browsers use; the others have the same data with fewer logs. */
const publicLogList = 'https://www.gstatic.com/ct/log_list/v3/log_list.json';

const perLogMeaning = 'For all logs, then exceptions as `log=value`, a log by its description or URL';

/** Every setting of ct-ingest. */
export const settings = defineSettings({
  ...processSettings({ opsPort: 4395 }),
  CT_DATABASE_URL: databaseUrl({ meaning: 'The ct database' }),
  ...poolerSettings,
  CT_DATABASE_POOL_SIZE: integer({
    meaning: 'Connections to the database at most; a batch holds one while it is committed',
    unit: 'connections',
    min: 2,
    max: 100,
    default: 10,
  }),
  LOG_LIST: string({
    meaning: 'Which logs there are: a file or URL with a log list in version 3 of its schema',
    default: publicLogList,
  }),
  LOG_LIST_RELOAD: durationMs({
    meaning: 'How often the log list and the file of monitored domains are read again',
    minMs: 100,
    maxMs: 7 * 86_400_000,
    default: 10 * 60_000,
  }),
  LOGS: list(string({ meaning: 'A state, or the description or URL of a log' }), {
    meaning: `Which logs of the list are followed: those in one of these states (${logStates.join(', ')}, unknown) and those named; names alone: no others`,
    default: ['usable', 'qualified', 'readonly'],
  }),
  START: list(string({ meaning: 'A place' }), {
    meaning: `Where a log begins of which nothing was ingested yet: beginning, now, an index or a date. ${perLogMeaning}`,
    default: ['beginning'],
  }),
  FOLLOW_CONCURRENCY: integer({
    meaning:
      'Logs that this process follows at the same time, as far as MEMORY_LIMIT has room for them; more of them take turns. Up to 8 that are slow or have failed are followed besides',
    unit: 'logs',
    min: 1,
    max: 200,
    default: 8,
  }),
  TURN_TIME: durationMs({
    meaning: 'How long a log with a backlog is followed before another one has its turn',
    minMs: 100,
    maxMs: 3_600_000,
    default: 60_000,
  }),
  LEASE_TIME: durationMs({
    meaning: 'How long a log waits for a process that has died; a living one lengthens its lease',
    minMs: 500,
    maxMs: 600_000,
    default: 30_000,
  }),
  POLL_INTERVAL: durationMs({
    meaning: 'How often a newer head is requested from a log once all its entries are ingested',
    minMs: 50,
    maxMs: 86_400_000,
    default: 10_000,
  }),
  REQUESTS_PER_SECOND: list(string({ meaning: 'A number' }), {
    meaning: `Requests to one log; fewer for a while after it said 429. ${perLogMeaning}`,
    default: ['5'],
  }),
  PARALLEL_FETCHES: list(string({ meaning: 'A number' }), {
    meaning: `Requests to one log that are under way at the same time. ${perLogMeaning}`,
    default: ['4'],
  }),
  PAGE_SIZE: integer({
    meaning:
      'Entries requested with one get-entries; if a log returns fewer, that number is requested from then on',
    unit: 'entries',
    min: 1,
    max: 100_000,
    default: 512,
  }),
  REQUEST_TIMEOUT: durationMs({
    meaning:
      'How long a log may take for one response, from the DNS query to the last byte; for entries, to their first byte, and ten times that for all of them',
    minMs: 100,
    maxMs: 600_000,
    default: 30_000,
  }),
  MIN_ANSWER_RATE: integer({
    meaning:
      'How fast entries must come, over each 10 seconds; a slower response is aborted, and its log rests as after every failure',
    unit: 'bytes per second',
    min: 1,
    max: 100_000_000,
    default: 16_384,
  }),
  STALE_HEAD_PATIENCE: durationMs({
    meaning:
      'How long a log may return an older head than before, as mirrors behind one name do, until that counts as a rollback',
    maxMs: 7 * 86_400_000,
    default: 2 * 60_000,
  }),
  CONTACT: string({
    meaning: 'Mail address or URL at which log operators reach you; sent in User-Agent',
    pattern: /^[\x21-\x7e]{1,200}$/,
    default: null,
  }),
  MEMORY_LIMIT: integer({
    meaning:
      'What the process takes at most, whatever logs send, with its threads: the limit of its container. Each log that is followed has a share of it',
    unit: 'MiB',
    min: 384,
    max: 65_536,
    default: 512,
  }),
  CT_INDEX_SCOPE: oneOf(['all', 'monitored'], {
    meaning:
      'What is stored: every issuance, or those that concern a domain which an account monitors or MONITORED_DOMAINS_FILE has. A new domain counts within two seconds, for entries that are read from then on. Logs are read and verified all the same',
    default: 'all',
  }),
  MONITORED_DOMAINS_FILE: filePath({
    meaning:
      'Domains to store in addition to those of accounts: one per line, each with all names below it; # begins a comment. Read again after LOG_LIST_RELOAD',
    default: null,
  }),
  BODY_PACKING: oneOf(bodyPackings, {
    meaning: 'How certificates are stored: deflate halves them at 60 µs of CPU each; both can be read',
    default: 'deflate',
  }),
  PACKING_THREADS: integer({
    meaning:
      'Threads that certificates are packed in, 15,000 a second each; 0: in between, by the process itself. As many as there are cores unless set, and no more than 2',
    unit: 'threads',
    min: 0,
    max: 16,
    default: Math.min(2, availableParallelism()),
  }),
  REVOCATION: oneOf(['on', 'off'], {
    meaning:
      'Whether the revocation lists that certificates and issuers name are fetched; without them no certificate has a revocation status',
    default: 'on',
  }),
  CRL_CONCURRENCY: integer({
    meaning:
      'Hosts from which this process requests revocation lists at the same time, one list at a time from each',
    unit: 'hosts',
    min: 1,
    max: 64,
    default: 4,
  }),
  CRL_GAP: durationMs({
    meaning: 'How long a host rests between two lists',
    maxMs: 600_000,
    default: 250,
  }),
  CRL_TIMEOUT: durationMs({
    meaning: 'How long a revocation list may take, from the DNS query to the last byte, with all redirects',
    minMs: 100,
    maxMs: 600_000,
    default: 60_000,
  }),
  CRL_SIZE_LIMIT: integer({
    meaning:
      'Max size of a revocation list; twice as much must be left of MEMORY_LIMIT above 384 MiB, or the max is lower',
    unit: 'MiB',
    min: 1,
    max: 1_024,
    default: 64,
  }),
  CRL_MIN_INTERVAL: durationMs({
    meaning: 'How often a revocation list is fetched at most, however soon it says that the next one comes',
    minMs: 100,
    maxMs: 86_400_000,
    default: 15 * 60_000,
  }),
  CRL_MAX_INTERVAL: durationMs({
    meaning:
      'How often a revocation list is fetched at least: CAs publish lists long before the old ones run out. A revocation is known this long after its publication at the latest, and a new certificate has a status',
    minMs: 100,
    maxMs: 7 * 86_400_000,
    default: 3_600_000,
  }),
  CRL_GRACE: durationMs({
    meaning:
      'How long a revocation list counts after the time that it names for the next one; after that the certificates on it, and those not on it, have no known status',
    maxMs: 7 * 86_400_000,
    default: 3_600_000,
  }),
  ALLOWED_NETWORKS: list(network({ meaning: 'A network' }), {
    meaning:
      'Special-purpose networks that logs, the log list and revocation lists may be in all the same; none of them by default',
    default: [],
  }),
  DNS_RESOLVERS: list(hostPort({ meaning: 'A recursive resolver' }), {
    meaning: 'Where hosts of logs and revocation lists are looked up; empty: at the resolvers of the system',
    default: [],
  }),
});

type Read = SettingValues<typeof settings.table>;

export type Config = Omit<Read, 'START' | 'REQUESTS_PER_SECOND' | 'PARALLEL_FETCHES'> & {
  readonly START: PerLog<Start>;
  readonly REQUESTS_PER_SECOND: PerLog<number>;
  readonly PARALLEL_FETCHES: PerLog<number>;
};

/** Injection token of the configuration. */
export const Config = Symbol('CtIngestConfig');

/** @throws SettingsError */
export function config(): Config {
  const read = settings.read(process.env);
  const faults: { name: string; fault: string }[] = [];
  const each = <T>(
    name: 'START' | 'REQUESTS_PER_SECOND' | 'PARALLEL_FETCHES',
    readValue: (text: string) => T | null,
    wanted: string,
  ): PerLog<T> => {
    const value = perLog(read[name], readValue);
    if (value === null)
      faults.push({ name, fault: `has an entry that is not ${wanted}, or says nothing for all logs` });
    return value as PerLog<T>;
  };
  const values = {
    ...read,
    START: each('START', readStart, 'beginning, now, an index or a date'),
    REQUESTS_PER_SECOND: each('REQUESTS_PER_SECOND', numberUpTo(10_000, 0.01), 'a number from 0.01 to 10000'),
    PARALLEL_FETCHES: each('PARALLEL_FETCHES', numberUpTo(64, 1), 'a number from 1 to 64'),
  };
  if (read.LOGS.length === 0)
    faults.push({ name: 'LOGS', fault: 'has no entry, so no log would be followed' });
  if (!isFileOrWebUrl(read.LOG_LIST))
    faults.push({
      name: 'LOG_LIST',
      fault: 'is neither a file nor a URL that begins with http:// or https://',
    });
  if (read.CRL_MIN_INTERVAL > read.CRL_MAX_INTERVAL)
    faults.push({ name: 'CRL_MIN_INTERVAL', fault: 'is longer than CRL_MAX_INTERVAL' });
  if (faults.length > 0) throw new SettingsError(faults);
  return values;
}

function isFileOrWebUrl(place: string): boolean {
  return /^https?:\/\//i.test(place) ? URL.canParse(place) : !/^[a-z][a-z\d+.-]*:\/\//i.test(place);
}

function numberUpTo(max: number, min: number) {
  return (text: string): number | null => {
    const value = /^\d{1,6}(?:\.\d{1,3})?$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : null;
  };
}
