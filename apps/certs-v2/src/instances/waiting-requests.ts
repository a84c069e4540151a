import { withoutDatabaseTime } from '@certwright/core-schema';
import { IssuanceNewsListener } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { RunningProcess } from '@certwright/service';
import { type FactoryProvider, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { InstancesRepository } from './instances.repository';
import { PendingInstances } from './pending-instances';

export const pendingInstances: FactoryProvider<PendingInstances> = {
  provide: PendingInstances,
  inject: [RedisAccess, RunningProcess, InstancesRepository],
  useFactory: (
    redis: RedisAccess,
    { log, metrics, opened }: RunningProcess,
    instances: InstancesRepository,
  ) => {
    const news = new IssuanceNewsListener(redis, { name: 'certs-v2-news-listener', log });
    opened('listener to news of issuances', async () => await news.close());
    const pending = new PendingInstances({
      news,
      // One query for all waiting clients: it does not count as time of the request that starts it.
      closedAmong: async (ids) => await withoutDatabaseTime(async () => await instances.closedAmong(ids)),
      onFailure: (error) => log.warn({ err: error }, 'lookup of polled instances failed; retrying'),
    });
    new Gauge({
      name: 'certwright_waiting_polls',
      help: 'Clients that wait for a pending instance',
      registers: [metrics.registry],
      collect() {
        this.set(pending.count);
      },
    });
    return pending;
  },
};

/** Ends waiting requests when the process stops, before the server waits for its last requests. */
@Injectable()
export class EndWaitingRequests implements OnApplicationBootstrap {
  constructor(
    private readonly pending: PendingInstances,
    private readonly running: RunningProcess,
  ) {}

  onApplicationBootstrap(): void {
    this.running.opened('waiting polls', () => this.pending.close());
  }
}
