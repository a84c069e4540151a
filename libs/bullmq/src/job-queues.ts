import { randomUUID } from 'node:crypto';
import { type Job, type QueueName, queueNames, queueOf, queues } from '@certwright/jobs';
import { checkWrites, type RedisAccess, type RedisClient } from '@certwright/redis-client';
import type { OnApplicationShutdown } from '@nestjs/common';
import { Queue } from 'bullmq';

/** Redis keys of a queue carry a hash tag, so that a Redis Cluster keeps them on one node. */
export const queuePrefix = ({ prefix }: Pick<RedisAccess, 'prefix'>): string => `{${prefix}}`;

/** Puts jobs on Redis. */
export class JobQueues implements OnApplicationShutdown {
  private readonly connection: RedisClient;
  private readonly readinessKey: string;
  private readonly byName: ReadonlyMap<QueueName, Queue>;

  /** @param onError called with every Redis error; must not throw */
  constructor(redis: RedisAccess, onError: (error: Error) => void) {
    // Redis accepts a wake-up at once or not at all; the outbox keeps what could not be sent.
    this.connection = redis.open({ kind: 'queue', name: 'job-queues' });
    this.readinessKey = `${redis.prefix}:ready:job-queues:${randomUUID()}`;
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
        prefix: queuePrefix(redis),
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

  /** Rejects when Redis does not respond, or refuses writes: a readiness check. */
  async checkWrites(): Promise<void> {
    await checkWrites(this.connection, this.readinessKey);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  async close(): Promise<void> {
    for (const queue of this.byName.values()) await queue.close().catch(() => undefined);
    this.connection.disconnect();
  }
}
