import { setTimeout as delay } from 'node:timers/promises';
import { Rounds, RunningProcess } from '@certwright/service';
import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../config';
import { CtDatabaseModule } from '../ct-database/ct-database.module';
import { FindingsModule } from '../findings/findings.module';
import { LeasedRounds } from '../tasks/leased-rounds';
import { type TaskLease, TaskLeases } from '../tasks/task-leases';
import { TasksModule } from '../tasks/tasks.module';
import { WatchedNames } from '../watched-names/watched-names';
import { DomainsInMemory } from './domains-in-memory';
import { FollowEvents, observeFollowing } from './follow-events';
import { FollowIndex } from './follow-index';
import { FollowerRows } from './follower.repository';
import { NextBatch } from './next-batch';
import { RestoredIndex } from './restored-index';
import { StartFollowing } from './start-following';
import { StoreMatched } from './store-matched';
import { UnreadableCursors } from './unreadable-cursors.repository';
import { UnreadableEntries } from './unreadable-entries';

/** Wait while the index does not grow and nothing changes, ms. */
const idleMs = 300;

/** Loads the monitored domains of all accounts. */
@Injectable()
export class LoadDomains {
  constructor(
    private readonly core: DataSource,
    private readonly leases: TaskLeases,
    private readonly watched: WatchedNames,
    private readonly running: RunningProcess,
    @Inject(Config) private readonly config: Pick<Config, 'LEASE_TIME'>,
  ) {}

  async load(lease: TaskLease): Promise<DomainsInMemory> {
    const onChange = (names: readonly string[]) => this.watched.changed(names);
    const domains = new DomainsInMemory(this.core, this.running.log, onChange);
    await domains.load(async () => await this.leases.extend(lease, this.config.LEASE_TIME));
    this.watched.follow(domains.index, lease);
    return domains;
  }

  forget(): void {
    this.watched.leave();
  }
}

/** The task `following`. */
@Injectable()
class FollowingTask implements OnModuleInit {
  private domains: DomainsInMemory | null = null;

  constructor(
    private readonly leased: LeasedRounds,
    private readonly rounds: Rounds,
    private readonly loading: LoadDomains,
    private readonly follow: FollowIndex,
    @Inject(Config) private readonly config: Pick<Config, 'LEASE_TIME'>,
  ) {}

  onModuleInit(): void {
    this.leased.add(
      'following',
      async (lease) => await this.turn(lease),
      () => this.forget(),
    );
  }

  /** Several batches: each round is a span, and may extend the lease, which is a write. */
  private async turn(lease: TaskLease): Promise<number> {
    const untilMs = performance.now() + Math.min(2_000, this.config.LEASE_TIME / 4);
    this.domains ??= await this.loading.load(lease);
    do {
      const hasMore = await this.follow.step(lease, this.domains);
      if (!hasMore) await delay(idleMs, undefined, { signal: this.rounds.stopping }).catch(() => undefined);
    } while (performance.now() < untilMs && !this.rounds.stopping.aborted);
    return 0;
  }

  private forget(): void {
    this.domains = null;
    this.loading.forget();
    this.follow.forget();
  }
}

/** Matches what is new in the index with the monitored domains. */
@Module({
  imports: [CtDatabaseModule, FindingsModule, TasksModule],
  providers: [
    { provide: FollowEvents, inject: [RunningProcess], useFactory: observeFollowing },
    FollowerRows,
    FollowIndex,
    FollowingTask,
    LoadDomains,
    NextBatch,
    RestoredIndex,
    StartFollowing,
    StoreMatched,
    UnreadableCursors,
    UnreadableEntries,
    WatchedNames,
  ],
})
export class FollowingModule {}
