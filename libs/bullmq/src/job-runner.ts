import {
  type JobCause,
  type JobName,
  type JobPayloads,
  type QueueName,
  queueOf,
  queues,
} from '@certwright/jobs';
import type { RedisAccess } from '@certwright/redis-client';
import { inSpan, isTracing } from '@certwright/tracing';
import {
  type BackendFactory,
  type ConnectionOptions,
  createRedisBackend,
  QueueKeys,
  type RedisQueueBackend,
  Worker,
} from 'bullmq';
import { queuePrefix } from './job-queues';
import { WaitingConnection } from './waiting-connection';

export type JobsOf<Q extends QueueName> = {
  [N in JobName]: (typeof queueOf)[N] extends Q ? N : never;
}[JobName];

/** One handler for each job of the queue: a missing one does not compile. */
export type Handlers<Q extends QueueName> = {
  readonly [N in JobsOf<Q>]: (payload: JobPayloads[N]) => Promise<void>;
};

export interface RunnerEvents {
  /** A handler threw. The row's own due time brings the work back. */
  readonly failed: (job: string, error: Error) => void;
  /** Trouble with Redis. */
  readonly error: (error: Error) => void;
}

export interface RunningJobs {
  /** Takes no more jobs and waits for those that run. */
  close(): Promise<void>;
}

/** Runs the jobs of one queue in this process, as many side by side as the queue's table says. */
export function runJobs<Q extends QueueName>(
  redis: RedisAccess,
  queue: Q,
  handlers: Handlers<Q>,
  events: RunnerEvents,
  concurrency: number = queues[queue].concurrency,
): RunningJobs {
  const byName = handlersByName(queue, handlers);
  const connect = () => redis.open({ kind: 'worker', name: `jobs-${queue}` });
  const connection = connect();
  const waiting = new WaitingConnection(connect, events.error);
  const worker = new Worker(
    queue,
    async ({ name, data }) => {
      const handler = byName.get(name);
      if (handler === undefined) throw new Error(`No handler for job "${name}" on queue "${queue}".`);
      const { cause, ...payload } = data as Readonly<Record<string, string>> & { cause?: JobCause };
      const handle = async () => await handler(payload as never);
      if (!isTracing()) return await handle();
      const attributes = { 'messaging.destination.name': queue, ...idAttributes(payload) };
      await inSpan(`job ${name}`, { kind: 'consumer', cause: cause ?? null, attributes }, handle);
    },
    {
      connection: connection as ConnectionOptions,
      prefix: queuePrefix(redis),
      // After a fail-over jobs are taken again within seconds.
      runRetryDelay: 1_000,
      skipVersionCheck: true,
      concurrency,
      lockDuration: queues[queue].lockDurationMs,
      maxStalledCount: queues[queue].maxStalledCount,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    },
    backendThatWaitsOn(waiting, queuePrefix(redis)),
  );
  worker.on('error', events.error);
  worker.on('failed', (job, error) => events.failed(job?.name ?? 'unknown', error));
  return {
    close: async () => {
      // A worker that closes would go on trying to connect.
      if (connection.status !== 'ready') connection.disconnect();
      await closeWorker(worker);
      waiting.interrupt();
      connection.disconnect();
    },
  };
}

/** BullMQ's own, except for waiting. */
function backendThatWaitsOn(waiting: WaitingConnection, prefix: string): BackendFactory<RedisQueueBackend> {
  const keys = new QueueKeys(prefix);
  return (name, options, more) =>
    Object.assign(createRedisBackend(name, options, { ...more, withBlockingConnection: false }), {
      waitForJob: async (withinS: number) => await waiting.pop(keys.toKey(name, 'marker'), withinS),
      disconnectBlocking: async () => await Promise.resolve(waiting.interrupt()),
    });
}

/** `issuanceId` → `certwright.issuance_id`. */
function idAttributes(payload: Readonly<Record<string, string>>): Record<string, string> {
  const attribute = (name: string) =>
    `certwright.${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
  return Object.fromEntries(Object.entries(payload).map(([name, id]) => [attribute(name), id]));
}

/** How long running jobs may take to finish; beyond it, and while Redis is unavailable, the connection is cut. */
const closingMs = 4_000;

/** A job that is cut off is no loss: its row brings it back. */
async function closeWorker(worker: Worker): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, closingMs, 'late');
  });
  await Promise.race([worker.close(), late]);
  clearTimeout(timer);
}

/** What the compiler checks for typed callers is checked again at start: each declared job has exactly one handler. */
function handlersByName<Q extends QueueName>(
  queue: Q,
  handlers: Handlers<Q>,
): ReadonlyMap<string, (payload: never) => Promise<void>> {
  const byJob = handlers as Readonly<Record<string, (payload: never) => Promise<void>>>;
  // Methods of a class, too. Job names have a hyphen; other methods have none.
  const methods = [handlers, Object.getPrototypeOf(handlers) as object].flatMap(Object.getOwnPropertyNames);
  const declared = Object.entries(queueOf).flatMap(([job, name]) => (name === queue ? [job] : []));
  const missing = declared.filter((job) => typeof byJob[job] !== 'function');
  const unknown = methods.filter((method) => method.includes('-') && !declared.includes(method));
  if (missing.length + unknown.length > 0) {
    throw new Error(
      `Queue "${queue}": without handler: ${missing.join(', ') || 'none'}; handler without declared job: ${unknown.join(', ') || 'none'}.`,
    );
  }
  return new Map(declared.map((job) => [job, async (payload) => await byJob[job]?.(payload)]));
}
