import type { RedisClient } from '@certwright/redis-client';
import { ConnectionClosedError } from 'bullmq';

/** BullMQ's signal in a sorted set that there is a job. */
export interface Marker {
  readonly member: string;
  /** 0: at once; of a delayed job, when it is due: ms since 1970. */
  readonly score: number;
}

/** How long Redis may take, beyond the time that it waits, ms. */
const patienceMs = 1_000;

/**
 * The connection on which a runner waits for jobs. If there is no response in time, or an error, the next wait uses a new one.
 * BullMQ would connect the same one again, and wait for that without a limit: with a Cluster, ioredis sometimes never says that
 * it has connected (6.0: when the Cluster is not ready at first), and the runner would take no more jobs.
 */
export class WaitingConnection {
  private client: RedisClient | undefined;
  private cancel: (error: Error) => void = () => undefined;

  /** @param onError called with every error of a connection */
  constructor(
    private readonly open: () => RedisClient,
    private readonly onError: (error: Error) => void,
  ) {}

  /**
   * Removes the first member of a sorted set, when there is one.
   *
   * @returns null: there was none in time
   * @throws ConnectionClosedError after `interrupt`; other errors of Redis or of the connection
   */
  async pop(key: string, withinS: number): Promise<Marker | null> {
    const client = (this.client ??= this.open().on('error', this.onError));
    const { promise: late, resolve: end, reject: cancel } = Promise.withResolvers<null>();
    this.cancel = cancel;
    const timer = setTimeout(
      () => {
        this.drop();
        end(null);
      },
      withinS * 1_000 + patienceMs,
    );
    try {
      const popped = await Promise.race([client.bzpopmin(key, withinS), late]);
      return popped === null ? null : { member: popped[1], score: Number(popped[2]) };
    } catch (error) {
      this.drop();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the wait, if there is one, with an error: after `null`, BullMQ would look for a job. */
  interrupt(): void {
    this.drop();
    this.cancel(new ConnectionClosedError());
  }

  private drop(): void {
    this.client?.disconnect();
    this.client = undefined;
  }
}
