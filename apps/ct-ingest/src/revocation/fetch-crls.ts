import { repeat, type Repeating, type RunningProcess } from '@certwright/service';
import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { Config } from '../config';
import type { CrlTurn } from './crl-turn';
import type { CrlHosts } from './store/crl-hosts';

/** Poll interval while no host is due, ms. */
const idleMs = 2_000;
const afterErrorMs = 5_000;

/** Fetches the lists of the host that is due longest, from the start of the process until it stops. */
export class FetchCrls implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private places: readonly Repeating[] = [];
  private stopped: Promise<unknown> | undefined;

  constructor(
    private readonly turn: CrlTurn,
    private readonly hosts: CrlHosts,
    private readonly running: RunningProcess,
    private readonly config: Pick<Config, 'CRL_CONCURRENCY' | 'LEASE_TIME'>,
  ) {}

  onApplicationBootstrap(): void {
    const onError = (error: unknown) =>
      this.running.log.warn({ err: error }, 'cannot lease a host with revocation lists');
    this.places = Array.from({ length: this.config.CRL_CONCURRENCY }, () =>
      repeat(async () => await this.next(), { afterErrorMs, onError }),
    );
  }

  onModuleDestroy(): void {
    this.stopping.abort(new Error('the process stops'));
    this.stopped = Promise.all(this.places.map(async (each) => await each.stop()));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.stopped;
  }

  private async next(): Promise<number> {
    const lease = await this.hosts.lease(this.config.LEASE_TIME);
    if (lease === null) return idleMs;
    await this.turn.run(lease, this.stopping.signal);
    return 0;
  }
}
