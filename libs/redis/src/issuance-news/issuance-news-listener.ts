import type { Redis } from 'ioredis';
import { connectRedis, type RedisConnection, type RedisLog } from '../redis-connection';
import { issuanceNewsChannel, type IssuanceNewsOptions } from './issuance-news';

export interface IssuanceNewsListenerOptions extends IssuanceNewsOptions {
  /** Interval of pings on the connection, in milliseconds. Default: 5,000. */
  readonly pingEveryMs?: number;
}

/**
 * Receives ids of changed issuances: one connection per process, any number of listeners. Messages may be lost;
 * listeners query the database after `on`, after `onReconnected`, and periodically.
 */
export class IssuanceNewsListener {
  readonly #connection: RedisConnection;
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #reconnected = new Set<() => void>();
  readonly #log: RedisLog;
  readonly #pinging: NodeJS.Timeout;
  /** A ping is under way. */
  #isPinging = false;

  /** @param channel another name keeps specs apart */
  constructor(
    redisUrl: string,
    { name, log, pingEveryMs = 5_000 }: IssuanceNewsListenerOptions,
    private readonly channel: string = issuanceNewsChannel,
  ) {
    this.#log = log;
    this.#connection = connectRedis(redisUrl, { name, log });
    const { client } = this.#connection;
    client.on('ready', () => {
      this.#isPinging = false;
      void this.#subscribe(client);
    });
    client.on('message', (_channel: string, message: string) => this.#tell(message));
    this.#pinging = setInterval(() => void this.#pingConnection(client), pingEveryMs).unref();
  }

  /** @returns what ends it; may be called twice */
  on(issuanceId: string, listener: () => void): () => void {
    // A function of its own: the same listener may wait twice.
    const waiting = () => listener();
    const others = this.#waiting.get(issuanceId);
    if (others === undefined) this.#waiting.set(issuanceId, new Set([waiting]));
    else others.add(waiting);
    return () => {
      const all = this.#waiting.get(issuanceId);
      if (all?.delete(waiting) === true && all.size === 0) this.#waiting.delete(issuanceId);
    };
  }

  /**
   * Called whenever the subscription is active again, including the first time: earlier messages are lost.
   *
   * @returns what ends it
   */
  onReconnected(listener: () => void): () => void {
    const waiting = () => listener();
    this.#reconnected.add(waiting);
    return () => void this.#reconnected.delete(waiting);
  }

  async close(): Promise<void> {
    clearInterval(this.#pinging);
    await this.#connection.close();
  }

  async #subscribe(client: Redis): Promise<void> {
    try {
      await client.subscribe(this.channel);
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot subscribe to news of issuances');
      if (client.status === 'ready') client.disconnect(true);
      return;
    }
    this.#callAll(this.#reconnected);
  }

  #tell(message: string): void {
    for (const id of idsIn(message)) this.#callAll(this.#waiting.get(id) ?? []);
  }

  /** Calls each listener, regardless of errors and changes meanwhile. */
  #callAll(listeners: Iterable<() => void>): void {
    for (const listener of [...listeners]) {
      try {
        listener();
      } catch (error) {
        this.#log.warn({ err: error }, 'a listener to news of issuances failed');
      }
    }
  }

  async #pingConnection(client: Redis): Promise<void> {
    if (client.status !== 'ready' || this.#isPinging) return;
    this.#isPinging = true;
    try {
      await client.ping();
      this.#isPinging = false;
    } catch {
      // Otherwise a half-open connection would last until TCP times out.
      if (client.status === 'ready') client.disconnect(true);
    }
  }
}

/** Ignores unreadable messages of other versions. */
function idsIn(message: string): readonly string[] {
  try {
    const ids: unknown = JSON.parse(message);
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}
