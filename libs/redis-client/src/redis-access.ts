import type { RedisNode } from '@certwright/redis-address';
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { RedisCredentials } from './redis-credentials';
import type { RedisSettings } from './redis-settings';

/** A connection to a server, to the master that Sentinels name, or to the nodes of a Cluster. */
export type RedisClient = Redis | Cluster;

export interface RedisUse {
  /**
   * - `commands`: for requests; a command succeeds in time or rejects, is sent at most once, and waits for no connection
   * - `queue`: enqueues jobs, whose ids make a repetition harmless: the same with more patience
   * - `worker`: runs jobs with BullMQ; a command waits until it succeeds
   */
  readonly kind: 'commands' | 'queue' | 'worker';
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  /** Timeout of a command, ms. Default: 500 for `commands`, 5,000 for `queue`; a worker has none. */
  readonly commandTimeoutMs?: number;
  /** Timeout of connecting, ms. Default: 5,000. */
  readonly connectTimeoutMs?: number;
}

/** First and maximum delay of reconnecting, ms. */
const reconnect = { firstMs: 50, maxMs: 2_000 };
const retryStrategy = (attempt: number): number =>
  Math.min(reconnect.maxMs, reconnect.firstMs * 2 ** Math.min(attempt, 10));

/**
 * A connection whose server owes a response and sends nothing for so long is closed and made again, ms: the server may
 * be frozen or cut off while another one has become the master. A worker waits 5 s for a job.
 */
const maxSilenceMs = { commands: 3_000, queue: 6_000, worker: 8_000 } satisfies Record<
  RedisUse['kind'],
  number
>;

/** How often the slots of a Cluster are read, ms. Redirections update them sooner. */
const slotsRefreshIntervalMs = 5_000;

/** The Redis of a deployment, as the settings name it. Makes every connection of a process. */
export class RedisAccess {
  /** Of every key and channel. */
  readonly prefix: string;
  readonly #settings: RedisSettings;
  readonly #credentials: RedisCredentials;

  /** @throws Error when the file of a password or CA cannot be read */
  constructor(settings: RedisSettings) {
    this.prefix = settings.REDIS_PREFIX;
    this.#settings = settings;
    this.#credentials = new RedisCredentials(settings);
  }

  /** Connects in the background, and reconnects for ever. */
  open(use: RedisUse): RedisClient {
    const { topology } = this.#settings.REDIS_URL;
    if (topology.kind === 'cluster') {
      const { enableOfflineQueue, ...redisOptions } = this.#options(use);
      const options = { ...clusterOptions(use), enableOfflineQueue, redisOptions };
      const cluster = new Cluster([...topology.nodes], options);
      cluster.on('+node', (node: Redis) => this.#credentials.renew(node.options));
      return cluster;
    }
    const place: RedisOptions =
      topology.kind === 'server'
        ? { ...topology.node, db: topology.database }
        : { sentinels: [...topology.sentinels], name: topology.master };
    return this.#connect({ ...this.#options(use), ...place, retryStrategy });
  }

  /**
   * For publish/subscribe, and otherwise as `commands`. In a Cluster it is a connection to any one node, which receives
   * what is published on all of them: ioredis replaces the subscriber of a `Cluster` without an event, so that lost
   * messages would not be noticed.
   */
  openSubscriber(name: string): Redis {
    const { topology } = this.#settings.REDIS_URL;
    const use: RedisUse = { kind: 'commands', name };
    if (topology.kind !== 'cluster') return this.open(use) as Redis;
    let nodes: readonly RedisNode[] = topology.nodes;
    let turn = Math.floor(Math.random() * nodes.length);
    const client = this.#connect({
      ...this.#options(use),
      ...nodes[turn],
      retryStrategy: (attempt) => {
        turn = (turn + 1) % nodes.length;
        Object.assign(client.options, nodes[turn]);
        return retryStrategy(attempt);
      },
    });
    client.on('ready', () => {
      client.cluster('SLOTS').then(
        (slots) => (nodes = [...topology.nodes, ...slots.flatMap(([, , ...served]) => nodesOf(served))]),
        () => undefined,
      );
    });
    return client;
  }

  #connect(options: RedisOptions): Redis {
    const client = new Redis(options);
    this.#credentials.renew(client.options);
    return client;
  }

  #options({ kind, name, commandTimeoutMs, connectTimeoutMs = 5_000 }: RedisUse) {
    const timeoutMs = commandTimeoutMs ?? { commands: 500, queue: 5_000, worker: undefined }[kind];
    return {
      ...this.#credentials.options(),
      connectionName: name,
      connectTimeout: connectTimeoutMs,
      socketTimeout: Math.max(maxSilenceMs[kind], timeoutMs ?? 0),
      ...(timeoutMs === undefined ? {} : { commandTimeout: timeoutMs }),
      enableOfflineQueue: kind === 'worker',
      autoResendUnfulfilledCommands: kind !== 'commands',
      maxRetriesPerRequest: { commands: 0, queue: 1, worker: null }[kind],
      // After a fail-over the old address may still respond, but as a replica.
      reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
    } satisfies RedisOptions;
  }
}

function clusterOptions({ kind }: RedisUse): ClusterOptions {
  return {
    clusterRetryStrategy: retryStrategy,
    slotsRefreshInterval: slotsRefreshIntervalMs,
    // Names are looked up for each connection, and compared with certificates.
    dnsLookup: (host, callback) => callback(null, host),
    // A command that may have run is not sent again. A worker's waits for the end of a fail-over, 16 times this long, ms.
    ...{
      commands: { retryDelayOnFailover: 0 },
      queue: {},
      worker: { retryDelayOnFailover: 500, retryDelayOnClusterDown: 500 },
    }[kind],
  };
}

/** @param served a master and its replicas, from `CLUSTER SLOTS`; a node that does not know its address has none */
function nodesOf(served: readonly (readonly [string, number, ...unknown[]])[]): readonly RedisNode[] {
  return served.flatMap(([host, port]) => (host ? [{ host, port }] : []));
}
