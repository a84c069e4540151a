/**
 * Every queue, with every option explicit. Redis only carries wake-ups: a job contains ids only, may be lost or run
 * twice, and the row in PostgreSQL decides. So no queue keeps finished or failed jobs, and none retries: the sweep
 * does.
 */
export interface QueueOptions {
  /** Jobs that one process runs in parallel. */
  readonly concurrency: number;
  /** How often BullMQ runs a failing job. 1: no retry; the row's due time triggers the next run. */
  readonly attempts: number;
  /** How long a worker may hold a job without renewal, ms. */
  readonly lockDurationMs: number;
  /** Jobs found stalled more often than this are failed for good by BullMQ; the sweep re-creates them from the row. */
  readonly maxStalledCount: number;
  /** Finished jobs are removed at once, so that the same id can be added again. */
  readonly removeFinished: boolean;
}

export const queues = {
  issuance: {
    concurrency: 32,
    attempts: 1,
    lockDurationMs: 30_000,
    // Two SIGKILLs during one job would fail it; removal on failure and the sweep re-create it.
    maxStalledCount: 1,
    removeFinished: true,
  },
  'orders-v3-events': {
    concurrency: 8,
    attempts: 1,
    lockDurationMs: 30_000,
    maxStalledCount: 1,
    removeFinished: true,
  },
  'certs-v2-events': {
    concurrency: 8,
    attempts: 1,
    lockDurationMs: 30_000,
    maxStalledCount: 1,
    removeFinished: true,
  },
  webhooks: {
    // A job only says that a delivery may be due.
    concurrency: 64,
    attempts: 1,
    lockDurationMs: 30_000,
    maxStalledCount: 1,
    removeFinished: true,
  },
  mail: {
    concurrency: 4,
    attempts: 1,
    lockDurationMs: 60_000,
    maxStalledCount: 1,
    removeFinished: true,
  },
  'dns-integrations': {
    // Each mostly waits for the gateway and a provider.
    concurrency: 16,
    attempts: 1,
    lockDurationMs: 60_000,
    maxStalledCount: 1,
    removeFinished: true,
  },
  revocations: {
    concurrency: 4,
    attempts: 1,
    lockDurationMs: 30_000,
    maxStalledCount: 1,
    removeFinished: true,
  },
} as const satisfies Record<string, QueueOptions>;

export type QueueName = keyof typeof queues;
export const queueNames = Object.keys(queues) as QueueName[];
