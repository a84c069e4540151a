import { AddressGuard } from '@certwright/outbound';
import { Round, RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { Config } from '../config';
import { LogsModule, UserAgent } from '../logs/logs.module';
import { MemoryBudget } from '../memory/memory-budget';
import { crlMemory } from './crl-memory';
import { CrlTurn } from './crl-turn';
import { FetchCrls } from './fetch-crls';
import { observeCrls, watchedCrls } from './observe-crls';
import { CrlHosts } from './store/crl-hosts';
import { CtCrls } from './store/ct-crls';
import { WatchCrls } from './watch-crls';

/** Interval of adding new lists and hosts and removing unused ones, ms. */
const planRestMs = 30_000;
const forgetRestMs = 3_600_000;

/** Determines the required revocation lists. */
class RevocationRounds {
  constructor(
    private readonly crls: CtCrls,
    private readonly hosts: CrlHosts,
    private readonly running: RunningProcess,
  ) {}

  @Round('planCrls')
  async plan(): Promise<number> {
    await this.crls.disclose();
    await this.hosts.discover();
    return planRestMs;
  }

  @Round('forgetCrls')
  async forget(): Promise<number> {
    const forgotten = await this.crls.forget();
    if (forgotten > 0) this.running.log.info({ lists: forgotten }, 'unused revocation lists deleted');
    return forgetRestMs;
  }
}

const isOff = ({ REVOCATION }: Config): boolean => REVOCATION === 'off';

/** Keeps the revocation lists of all issuers up to date. With REVOCATION=off, its workers are null. */
@Module({
  imports: [LogsModule],
  providers: [
    CrlHosts,
    CtCrls,
    {
      provide: WatchCrls,
      inject: [Config, CtCrls, RunningProcess],
      useFactory: (config: Config, crls: CtCrls, running: RunningProcess) =>
        isOff(config) ? null : new WatchCrls(crls, watchedCrls(running)),
    },
    {
      provide: RevocationRounds,
      inject: [Config, CtCrls, CrlHosts, RunningProcess],
      useFactory: (config: Config, crls: CtCrls, hosts: CrlHosts, running: RunningProcess) =>
        isOff(config) ? null : new RevocationRounds(crls, hosts, running),
    },
    {
      provide: FetchCrls,
      inject: [Config, CtCrls, CrlHosts, AddressGuard, UserAgent, RunningProcess],
      useFactory: (
        config: Config,
        crls: CtCrls,
        hosts: CrlHosts,
        guard: AddressGuard,
        userAgent: string,
        running: RunningProcess,
      ) => {
        if (isOff(config)) return null;
        const { lists, maxList: maxBytes } = crlMemory(config.MEMORY_LIMIT, config.CRL_SIZE_LIMIT);
        const turn = new CrlTurn({
          ...{ crls, hosts, maxBytes },
          leaseMs: config.LEASE_TIME,
          turnMs: config.TURN_TIME,
          gapMs: config.CRL_GAP,
          graceMs: config.CRL_GRACE,
          fetching: { guard, userAgent, timeoutMs: config.CRL_TIMEOUT, now: Date.now },
          events: observeCrls(running),
          memory: new MemoryBudget(lists),
          intervals: { minMs: config.CRL_MIN_INTERVAL, maxMs: config.CRL_MAX_INTERVAL },
          now: Date.now,
          random: Math.random,
        });
        return new FetchCrls(turn, hosts, running, config);
      },
    },
  ],
})
export class RevocationModule {}
