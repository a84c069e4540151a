import { withoutDatabaseTime } from '@certwright/core-schema';
import { IssuanceNews, IssuanceNewsListener } from '@certwright/redis';
import type { RunningProcess } from '@certwright/service';
import { Gauge } from 'prom-client';
import { InstancesRepository } from './instances.repository';
import { PendingInstances } from './pending-instances';

/** Dependencies of `openWaiting` that exist before the first request. */
interface Application {
  get(token: typeof InstancesRepository): InstancesRepository;
}

/**
 * News of issuances, both ways, and the clients that wait for them.
 *
 * @param application called with the first look only
 * @returns `pending` is to be closed before the server is: it waits for requests under way
 */
export function openWaiting(
  redisUrl: string,
  { log, metrics, opened }: Pick<RunningProcess, 'log' | 'metrics' | 'opened'>,
  application: () => Application,
): { readonly news: IssuanceNews; readonly pending: PendingInstances } {
  const news = new IssuanceNews(redisUrl, { name: 'certs-v2-news', log });
  opened('news of issuances', () => news.close());
  const listener = new IssuanceNewsListener(redisUrl, { name: 'certs-v2-news-listener', log });
  opened('listener to news of issuances', () => listener.close());
  const pending = new PendingInstances({
    news: listener,
    // One query for all waiting clients: it does not count as time of the request that starts it.
    closedAmong: async (ids) =>
      await withoutDatabaseTime(async () => await application().get(InstancesRepository).closedAmong(ids)),
    onFailure: (error) => log.warn({ err: error }, 'cannot look for instances that clients wait for'),
  });
  new Gauge({
    name: 'certwright_waiting_polls',
    help: 'Clients that wait for a pending instance',
    registers: [metrics.registry],
    collect() {
      this.set(pending.count);
    },
  });
  return { news, pending };
}
