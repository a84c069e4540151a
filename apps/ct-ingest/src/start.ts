import { ctDataSource, ctSchema } from '@certwright/ct-schema';
import { CtLogs } from './logs/ct-logs';
import { ensurePartitions } from '@certwright/ct-index';
import { AddressGuard } from '@certwright/outbound';
import { warnOfExcessPrivileges } from '@certwright/postgres';
import { repeat, type RunningProcess } from '@certwright/service';
import type { DataSource } from 'typeorm';
import type { Config } from './config';
import { FollowLog } from './following/follow-log';
import { followLogs } from './following/following';
import { LogApis } from './following/log-apis';
import { housekeeping } from './housekeeping/housekeeping';
import { merging } from './housekeeping/merging';
import { keepIssuerFacts } from './issuers/keep-issuer-facts';
import { fetchLogList } from './log-list/fetch-log-list';
import { WantedLogs } from './log-list/followed-logs';
import { KeepLogList } from './log-list/keep-log-list';
import { type MemoryShares, memoryShares } from './memory/memory-shares';
import { observeFollowing, observeList, observeLogs } from './observe';
import { asTheyAre, type BodyPacker } from './packing/body-packer';
import { PackingThreads } from './packing/packing-threads';
import { everything, type IndexedScope, MonitoredDomains } from './reading/indexed-scope';
import { Issuers } from './reading/issuers';
import { RecentIssuances } from './reading/recent-issuances';
import { crlMemory } from './revocation/crl-memory';
import { followRevocations } from './revocation/follow-revocations';
import { WatchLogs } from './watch/watch-logs';

/** Longer than any batch takes; a scan of a partition that has expired takes its time. */
const statementTimeoutMs = 60_000;

/** Issuances of which this process remembers that they are stored: an hour of all public logs; 150 octets each. */
const recentIssuances = 150_000;

/** The server ends no statement that waits for its client; one that waits longer than any may take is a frozen process's. */
const silentMs = statementTimeoutMs + 10_000;

const afterErrorMs = 5_000;

/** Logs that are followed beside those that FOLLOW_CONCURRENCY counts, since they are slow or have failed. */
const maxPlacesAside = 8;

export async function start(config: Config, running: RunningProcess): Promise<void> {
  const database = await openDatabase(config, running);
  await ensurePartitions(database, new Date());
  const logs = new CtLogs(database);
  const guard = new AddressGuard({
    allowedNetworks: config.ALLOWED_NETWORKS,
    resolvers: config.DNS_RESOLVERS,
  });
  const contact = config.CONTACT === null ? '' : ` (+${config.CONTACT})`;
  const userAgent = `certwright-ct-ingest/1${contact}`;
  const scope = await indexedScope(config, running);
  await startRounds(config, running, database, logs, { guard, userAgent });
  await keepIssuerFacts(database, running);
  startRevocations(config, running, database, { guard, userAgent });
  const shares = sharesOf(config);
  const follow = new FollowLog({
    ...{ logs, events: observeFollowing(running), random: Math.random },
    apiOf: apisOf(config, guard, userAgent, shares),
    maxBatch: shares.batch,
    reading: {
      issuers: new Issuers(),
      recent: new RecentIssuances(recentIssuances),
      scope,
      now: Date.now,
    },
    packer: bodyPacker(config, running),
    start: config.START,
    parallel: config.PARALLEL_FETCHES,
    leaseMs: config.LEASE_TIME,
    turnMs: config.TURN_TIME,
    pollIntervalMs: config.POLL_INTERVAL,
    stalePatienceMs: config.STALE_HEAD_PATIENCE,
  });
  const placesAside = Math.min(maxPlacesAside, Math.ceil(shares.logs / 2));
  const places = {
    places: Math.max(1, shares.logs - placesAside),
    placesAside,
    leaseMs: config.LEASE_TIME,
    pollMs: config.POLL_INTERVAL,
  };
  if (places.places < config.FOLLOW_CONCURRENCY)
    running.log.warn({ logs_at_a_time: places.places }, 'MEMORY_LIMIT is too low for FOLLOW_CONCURRENCY');
  const onError = (error: unknown) => running.log.warn({ err: error }, 'no log can be leased');
  const following = followLogs(logs, follow, places, onError);
  running.opened('following', async () => await following.stop());
}

function bodyPacker(config: Config, { log, opened }: RunningProcess): BodyPacker {
  if (config.BODY_PACKING === 'none') return asTheyAre;
  const onFault = (error: unknown) => log.warn({ err: error }, 'a thread that packs certificates has ended');
  const threads = new PackingThreads(config.PACKING_THREADS, onFault);
  opened('packing', async () => await threads.close());
  return threads;
}

function sharesOf({ REVOCATION, MEMORY_LIMIT, CRL_SIZE_LIMIT, FOLLOW_CONCURRENCY }: Config): MemoryShares {
  const forFollowing =
    REVOCATION === 'off' ? MEMORY_LIMIT : crlMemory(MEMORY_LIMIT, CRL_SIZE_LIMIT).followingMib;
  return memoryShares(forFollowing, FOLLOW_CONCURRENCY + maxPlacesAside);
}

function apisOf(
  config: Config,
  guard: AddressGuard,
  userAgent: string,
  shares: MemoryShares,
): (log: Parameters<LogApis['of']>[0]) => ReturnType<LogApis['of']> {
  const apis = new LogApis({
    guard,
    userAgent,
    timeoutMs: config.REQUEST_TIMEOUT,
    requestsPerSecond: config.REQUESTS_PER_SECOND,
    pageSize: config.PAGE_SIZE,
    minAnswerRate: config.MIN_ANSWER_RATE,
    shares,
    now: Date.now,
  });
  return (log) => apis.of(log);
}

interface Outside {
  readonly guard: AddressGuard;
  readonly userAgent: string;
}

function startRevocations(
  config: Config,
  running: RunningProcess,
  database: DataSource,
  outside: Outside,
): void {
  if (config.REVOCATION === 'off') return;
  const { lists, longestList } = crlMemory(config.MEMORY_LIMIT, config.CRL_SIZE_LIMIT);
  followRevocations(database, running, {
    ...outside,
    places: config.CRL_CONCURRENCY,
    timeoutMs: config.CRL_TIMEOUT,
    gapMs: config.CRL_GAP,
    leaseMs: config.LEASE_TIME,
    turnMs: config.TURN_TIME,
    minIntervalMs: config.CRL_MIN_INTERVAL,
    maxIntervalMs: config.CRL_MAX_INTERVAL,
    graceMs: config.CRL_GRACE,
    memoryOctets: lists,
    mostOctets: longestList,
  });
}

/** Until the list has been read, and when it cannot be, what it said before is followed. */
async function startRounds(
  config: Config,
  running: RunningProcess,
  database: DataSource,
  logs: CtLogs,
  outside: Outside,
): Promise<void> {
  const fetch = async () => await fetchLogList({ place: config.LOG_LIST, ...outside });
  const list = new KeepLogList(logs, fetch, new WantedLogs(config.LOGS), observeList(running), Date.now);
  let isListKnown = (await logs.all()).length > 0;
  running.readiness.add('log-list', async () => {
    if (!isListKnown) throw new Error('no log list has been read yet');
  });
  const keepList = async () => {
    await list.run();
    isListKnown = true;
    return config.LOG_LIST_RELOAD;
  };
  const watch = new WatchLogs(logs, observeLogs(running), Date.now);
  const now = () => new Date();
  const stopping = new AbortController();
  const rounds = {
    keepList,
    watch: async () => await watch.run(),
    ...housekeeping(database, now, silentMs, {
      dropped: (tables) => running.log.info({ tables }, 'expired partitions dropped'),
      unverifiedRemoved: (issuances) =>
        running.log.warn({ issuances }, 'issuances removed that only a stopped log has'),
      silentEnded: (sessions) => running.log.warn({ sessions }, 'sessions of a frozen process ended'),
    }),
    ...merging(
      database,
      now,
      (lane, merged) => running.log.debug({ lane, ...merged }, 'postings merged'),
      stopping.signal,
    ),
  };
  for (const [name, round] of Object.entries(rounds)) repeatedly(running, name, round);
  // Closed before they are.
  running.opened('merges', () => stopping.abort());
}

async function indexedScope(config: Config, running: RunningProcess): Promise<IndexedScope> {
  const { CT_INDEX_SCOPE: scope, MONITORED_DOMAINS_FILE: path, LOG_LIST_RELOAD: reloadMs } = config;
  if (scope === 'all' || path === null) return everything;
  const domains = new MonitoredDomains(path);
  await domains.reload();
  running.log.info({ domains: domains.size }, 'monitored domains');
  repeatedly(running, 'monitoredDomains', async () => {
    await domains.reload();
    return reloadMs;
  });
  return domains;
}

function repeatedly({ log, opened }: RunningProcess, name: string, round: () => Promise<number>): void {
  const onError = (error: unknown) => log.warn({ round: name, err: error }, 'round failed; it is repeated');
  const repeating = repeat(round, { afterErrorMs, onError });
  opened(name, async () => await repeating.stop());
}

async function openDatabase(config: Config, { log, readiness, opened }: RunningProcess): Promise<DataSource> {
  const database = ctDataSource({
    url: config.CT_DATABASE_URL,
    applicationName: 'ct-ingest',
    poolSize: config.CT_DATABASE_POOL_SIZE,
    statementTimeoutMs,
  });
  await database.initialize();
  opened('database', async () => await database.destroy());
  readiness.add('database', async () => await database.query('SELECT 1'));
  await warnOfExcessPrivileges(database, ctSchema, 'ct-ingest', log);
  return database;
}
