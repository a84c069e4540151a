import { randomUUID } from 'node:crypto';
import { type Job, type QueueName, queueNames, queueOf, queues } from '@certwright/jobs';
import type { OnApplicationShutdown } from '@nestjs/common';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';

/** Redis keys of a queue carry a hash tag, so that a Redis Cluster keeps them on one node. */
export const queuePrefix = '{certwright}';

/** Redis accepts a wake-up at once or not at all; the outbox keeps what could not be sent. */
const commandTimeoutMs = 5_000;

/** How long the key of a readiness check stays, ms. */
const readinessKeyMs = 10_000;

/** Puts jobs on Redis. */
export class JobQueues implements OnApplicationShutdown {
  private readonly connection: Redis;
  private readonly readinessKey = `${queuePrefix}:ready:${randomUUID()}`;
  private readonly byName: ReadonlyMap<QueueName, Queue>;

  /** @param onError called with every Redis error; must not throw */
  constructor(redisUrl: string, onError: (error: Error) => void) {
    this.connection = new Redis(redisUrl, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      commandTimeout: commandTimeoutMs,
      retryStrategy: (times) => Math.min(times * 100, 2_000),
      // After a fail-over the old address may still respond, but as a replica.
      reconnectOnError: (error) => error.message.startsWith('READONLY'),
    });
    // Every queue emits the errors of the connection that they share.
    const reported = new WeakSet<Error>();
    const report = (error: Error) => {
      if (reported.has(error)) return;
      reported.add(error);
      onError(error);
    };
    this.connection.on('error', report);
    const queue = (name: QueueName) =>
      new Queue(name, {
        connection: this.connection,
        prefix: queuePrefix,
        skipMetasUpdate: true,
        defaultJobOptions: {
          attempts: queues[name].attempts,
          removeOnComplete: queues[name].removeFinished,
          removeOnFail: queues[name].removeFinished,
        },
      }).on('error', report);
    this.byName = new Map(queueNames.map((name) => [name, queue(name)]));
  }

  /** One round trip per queue. A job whose id is still queued is dropped by Redis. */
  async addAll(jobs: readonly Job[]): Promise<void> {
    for (const [name, queue] of this.byName) {
      const own = jobs.filter((job) => queueOf[job.name] === name);
      if (own.length === 0) continue;
      await queue.addBulk(
        own.map(({ name: job, id, payload, priority, cause }) => ({
          name: job,
          data: cause === undefined ? payload : { ...payload, cause },
          opts: { jobId: id, ...(priority === undefined ? {} : { priority }) },
        })),
      );
    }
  }

  /** Jobs of one queue that wait for a worker. */
  async waiting(name: QueueName): Promise<number> {
    return (await this.byName.get(name)?.count()) ?? 0;
  }

  /** Jobs that wait or run, by queue. */
  async lengths(): Promise<ReadonlyMap<QueueName, number>> {
    const lengths = new Map<QueueName, number>();
    for (const [name, queue] of this.byName) lengths.set(name, await queue.count());
    return lengths;
  }

  /** Rejects when Redis does not respond, or refuses writes (OOM, READONLY, MISCONF): a readiness check. */
  async checkWrites(): Promise<void> {
    await this.connection.set(this.readinessKey, '1', 'PX', readinessKeyMs);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  async close(): Promise<void> {
    for (const queue of this.byName.values()) await queue.close().catch(() => undefined);
    this.connection.disconnect();
  }
}
