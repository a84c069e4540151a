import type { RedisNode } from '@certwright/redis-address';
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { admittedConnectors } from './admitted-connectors';
import { logChanges } from './log-changes';
import { type ClaimLog, PrefixClaim, type RedisOwner } from './prefix-claim';
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
  /** Shown by `CLIENT LIST`, after the name of the process. */
  readonly name: string;
  /** Timeout of a command, ms. Default: 500 for `commands`, 5,000 for `queue`; a worker has none. */
  readonly commandTimeoutMs?: number;
}

/** Timeout of connecting. */
const connectTimeoutMs = 5_000;

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

/** Timeout of a query to a Sentinel, ms; then another one is queried. */
const sentinelTimeoutMs = 1_000;

/** How often the slots of a Cluster are read, ms. Redirections update them sooner. */
const slotsRefreshIntervalMs = 5_000;

/** Of a process that uses Redis only while the prefix belongs to its deployment. */
export interface RedisTenancy {
  /** Of the process. */
  readonly name: string;
  /** Rejects while the database is unavailable; null: its schema has no identity yet, so nothing is checked. */
  readonly findOwner: () => Promise<RedisOwner | null>;
  readonly log: ClaimLog;
}

/** The Redis of a deployment, as the settings name it. Makes every connection of a process. */
export class RedisAccess {
  /** Of every key and channel. */
  readonly prefix: string;
  readonly #settings: RedisSettings;
  readonly #process: string | undefined;
  readonly #credentials: RedisCredentials;
  readonly #claim: PrefixClaim | undefined;
  readonly #connectors: Partial<ReturnType<typeof admittedConnectors>>;
  /** Every connection that is ready; others may be in it. */
  readonly #opened = new Set<RedisClient>();

  /**
   * @param tenancy omitted by commands and specs, which use what they are given
   * @throws Error when the file of a password or CA cannot be read
   */
  constructor(settings: RedisSettings, tenancy?: RedisTenancy) {
    this.prefix = settings.REDIS_PREFIX;
    this.#settings = settings;
    this.#credentials = new RedisCredentials(settings);
    this.#connectors = {};
    if (tenancy === undefined) return;
    const { name, findOwner, log } = tenancy;
    this.#process = name;
    const client = this.open({ kind: 'commands', name: `${name}-claim` });
    logChanges(client, `${name}-claim`, log);
    this.#claim = new PrefixClaim(this.prefix, client, findOwner, log, () => this.#connectAgain());
    this.#connectors = admittedConnectors(this.#claim);
  }

  /** A readiness check of this copy. @throws Error while another deployment is known to use the prefix */
  requireOwn(): void {
    this.#claim?.requireOwn();
  }

  /** Ends what `tenancy` needs; connections are closed by who opened them. */
  close(): void {
    this.#claim?.close();
  }

  /** Connects in the background, and reconnects for ever. */
  open(use: RedisUse): RedisClient {
    const { topology } = this.#settings.REDIS_URL;
    if (topology.kind === 'cluster') {
      const { enableOfflineQueue, ...node } = this.#options(use);
      const redisOptions = { ...node, ...connector(this.#connectors.server) };
      const options = { ...clusterOptions(use), enableOfflineQueue, redisOptions };
      const cluster = new Cluster([...topology.nodes], options);
      cluster.on('+node', (added: Redis) => this.#credentials.renew(added.options));
      return this.#keep(cluster);
    }
    const place: RedisOptions =
      topology.kind === 'server'
        ? { ...topology.node, db: topology.database, ...connector(this.#connectors.server) }
        : {
            ...{
              sentinels: [...topology.sentinels],
              name: topology.master,
              sentinelCommandTimeout: sentinelTimeoutMs,
            },
            ...connector(this.#connectors.sentinel),
          };
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
      ...connector(this.#connectors.server),
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
    return this.#keep(client);
  }

  #keep<C extends RedisClient>(client: C): C {
    // Connections without a claim: of commands and specs, and the connection of the claim itself.
    if (this.#connectors.server === undefined) return client;
    client.on('end', () => this.#opened.delete(client));
    // BullMQ ends a connection and connects it again.
    client.on('ready', () => this.#opened.add(client));
    return client;
  }

  #connectAgain(): void {
    for (const client of this.#opened) if (client.status === 'ready') client.disconnect(true);
  }

  #ofProcess(name: string): string {
    return this.#process === undefined || name.startsWith(this.#process) ? name : `${this.#process}-${name}`;
  }

  #options({ kind, name, commandTimeoutMs }: RedisUse) {
    const timeoutMs = commandTimeoutMs ?? { commands: 500, queue: 5_000, worker: undefined }[kind];
    return {
      ...this.#credentials.options(),
      connectionName: this.#ofProcess(name),
      connectTimeout: connectTimeoutMs,
      socketTimeout: Math.max(maxSilenceMs[kind], timeoutMs ?? 0),
      ...(timeoutMs === undefined ? {} : { commandTimeout: timeoutMs }),
      enableOfflineQueue: kind === 'worker',
      autoResendUnfulfilledCommands: kind !== 'commands',
      maxRetriesPerRequest: { commands: 0, queue: 1, worker: null }[kind],
      // Subscribers subscribe whenever they are ready. ioredis would not catch the errors, and an uncaught one ends the process.
      autoResubscribe: false,
      // After a fail-over the old address may still respond, but as a replica.
      reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
    } satisfies RedisOptions;
  }
}

/** ioredis passes the options of the connection to the constructor. Absent: its own connector. */
const connector = (admitted: object | undefined): RedisOptions =>
  admitted === undefined ? {} : { Connector: admitted as RedisOptions['Connector'] };

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
