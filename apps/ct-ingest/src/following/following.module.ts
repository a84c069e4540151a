import { isUndefinedTable } from '@certwright/ct-schema';
import { AddressGuard } from '@certwright/outbound';
import { Rounds, RunningProcess } from '@certwright/service';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../config';
import { CtLogs } from '../logs/ct-logs';
import { LogsModule, UserAgent } from '../logs/logs.module';
import { type MemoryShares, memoryShares } from '../memory/memory-shares';
import { observeFollowing } from '../observe';
import { asTheyAre, type BodyPacker } from '../packing/body-packer';
import { PackingThreads } from '../packing/packing-threads';
import { everything, type IndexedScope, MonitoredNames } from '../reading/indexed-scope';
import { Issuers } from '../reading/issuers';
import { RecentIssuances } from '../reading/recent-issuances';
import { crlMemory } from '../revocation/crl-memory';
import { FollowLog } from './follow-log';
import { followLogs, type Following } from './following';
import { LogApis } from './log-apis';

/** Issuances that this process remembers as stored: an hour of all public logs; 150 bytes each. */
const recentIssuances = 150_000;

/** Slow or failed logs that are followed in addition to FOLLOW_CONCURRENCY. */
const maxPlacesAside = 8;

const scope = Symbol('IndexedScope');
const packer = Symbol('BodyPacker');

/** Follows logs from the start of the process until it stops. */
@Injectable()
class FollowLogs implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private following: Following | null = null;
  private stopped: Promise<void> | undefined;

  constructor(
    private readonly logs: CtLogs,
    private readonly follow: FollowLog,
    private readonly running: RunningProcess,
    @Inject(Config) private readonly config: Config,
  ) {}

  onApplicationBootstrap(): void {
    const { log } = this.running;
    const { LEASE_TIME: leaseMs, POLL_INTERVAL: pollMs, FOLLOW_CONCURRENCY } = this.config;
    const { logs: atATime } = sharesOf(this.config);
    const placesAside = Math.min(maxPlacesAside, Math.ceil(atATime / 2));
    const places = Math.max(1, atATime - placesAside);
    if (places < FOLLOW_CONCURRENCY)
      log.warn({ logs_at_a_time: places }, 'MEMORY_LIMIT is too low for FOLLOW_CONCURRENCY');
    const onError = (error: unknown) => log.warn({ err: error }, 'cannot lease a log');
    this.following = followLogs(this.logs, this.follow, { places, placesAside, leaseMs, pollMs }, onError);
  }

  onModuleDestroy(): void {
    this.stopped = this.following?.stop();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.stopped;
  }
}

function sharesOf({ REVOCATION, MEMORY_LIMIT, CRL_SIZE_LIMIT, FOLLOW_CONCURRENCY }: Config): MemoryShares {
  const forFollowing =
    REVOCATION === 'off' ? MEMORY_LIMIT : crlMemory(MEMORY_LIMIT, CRL_SIZE_LIMIT).followingMib;
  return memoryShares(forFollowing, FOLLOW_CONCURRENCY + maxPlacesAside);
}

/** How often changed names take effect: within two seconds. */
const namesPollMs = 1_000;

/** @throws when the names cannot be read: entries that are skipped meanwhile would be missing for ever */
async function openScope(
  { CT_INDEX_SCOPE, MONITORED_DOMAINS_FILE: file, LOG_LIST_RELOAD: reloadMs }: Config,
  database: DataSource,
  { log }: RunningProcess,
  rounds: Rounds,
): Promise<IndexedScope> {
  if (CT_INDEX_SCOPE === 'all') return everything;
  const names = new MonitoredNames((source, name) =>
    log.warn({ source, name }, 'a monitored name is not a domain; it is ignored'),
  );
  if (file !== null) {
    await names.readFile(file);
    rounds.add('monitoredDomains', async () => {
      await names.readFile(file);
      return reloadMs;
    });
  }
  try {
    await names.readTable(database);
  } catch (error) {
    if (file === null || !isUndefinedTable(error)) throw error;
    log.warn('the ct database lacks the newest migration; only MONITORED_DOMAINS_FILE has names');
  }
  rounds.add('watchedNames', async () => {
    await names.readTable(database);
    return namesPollMs;
  });
  log.info({ domains: names.size }, 'monitored domains');
  return names;
}

/** Reads logs and stores their entries. */
@Module({
  imports: [LogsModule],
  providers: [
    FollowLogs,
    {
      provide: scope,
      inject: [Config, DataSource, RunningProcess, Rounds],
      useFactory: openScope,
    },
    {
      provide: packer,
      inject: [Config, RunningProcess],
      useFactory: (
        { BODY_PACKING, PACKING_THREADS }: Config,
        { log, opened }: RunningProcess,
      ): BodyPacker => {
        if (BODY_PACKING === 'none') return asTheyAre;
        const onFault = (error: unknown) =>
          log.warn({ err: error }, 'a thread that packs certificates has ended');
        const threads = new PackingThreads(PACKING_THREADS, onFault);
        opened('packing', async () => await threads.close());
        return threads;
      },
    },
    {
      provide: LogApis,
      inject: [Config, AddressGuard, UserAgent],
      useFactory: (config: Config, guard: AddressGuard, userAgent: string) =>
        new LogApis({
          guard,
          userAgent,
          timeoutMs: config.REQUEST_TIMEOUT,
          requestsPerSecond: config.REQUESTS_PER_SECOND,
          pageSize: config.PAGE_SIZE,
          minResponseRate: config.MIN_ANSWER_RATE,
          shares: sharesOf(config),
          now: Date.now,
        }),
    },
    {
      provide: FollowLog,
      inject: [Config, RunningProcess, CtLogs, LogApis, scope, packer],
      useFactory: (
        config: Config,
        running: RunningProcess,
        logs: CtLogs,
        apis: LogApis,
        indexed: IndexedScope,
        bodies: BodyPacker,
      ) =>
        new FollowLog({
          ...{ logs, events: observeFollowing(running), random: Math.random },
          apiOf: (log) => apis.of(log),
          maxBatch: sharesOf(config).batch,
          reading: {
            issuers: new Issuers(),
            recent: new RecentIssuances(recentIssuances),
            scope: indexed,
            now: Date.now,
          },
          packer: bodies,
          start: config.START,
          parallel: config.PARALLEL_FETCHES,
          leaseMs: config.LEASE_TIME,
          turnMs: config.TURN_TIME,
          pollIntervalMs: config.POLL_INTERVAL,
          stalePatienceMs: config.STALE_HEAD_PATIENCE,
        }),
    },
  ],
})
export class FollowingModule {}
