import type { Redis } from 'ioredis';
import { connectRedis, type RedisConnection, type RedisLog } from '../redis-connection';
import { issuanceNewsChannel, type IssuanceNewsOptions } from './issuance-news';

export interface IssuanceNewsListenerOptions extends IssuanceNewsOptions {
  /** How often the connection is asked whether anything comes through it still, in milliseconds. Default: 5,000. */
  readonly askEveryMs?: number;
}

/**
 * Hears which issuances have changed: one connection for the process, however many wait. News may be lost; whoever waits
 * looks into the database after `on`, after `onReconnected`, and once in a while.
 */
export class IssuanceNewsListener {
  readonly #connection: RedisConnection;
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #reconnected = new Set<() => void>();
  readonly #log: RedisLog;
  readonly #asking: NodeJS.Timeout;
  /** The connection was asked, and has not answered. */
  #isAsked = false;

  /** @param channel another name keeps specs apart */
  constructor(
    redisUrl: string,
    { name, log, askEveryMs = 5_000 }: IssuanceNewsListenerOptions,
    private readonly channel: string = issuanceNewsChannel,
  ) {
    this.#log = log;
    this.#connection = connectRedis(redisUrl, { name, log });
    const { client } = this.#connection;
    client.on('ready', () => {
      this.#isAsked = false;
      void this.#subscribe(client);
    });
    client.on('message', (_channel: string, message: string) => this.#tell(message));
    this.#asking = setInterval(() => void this.#askWhetherItLives(client), askEveryMs).unref();
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
   * Called whenever news can be heard again, the first time included: what was told before is lost.
   *
   * @returns what ends it
   */
  onReconnected(listener: () => void): () => void {
    const waiting = () => listener();
    this.#reconnected.add(waiting);
    return () => void this.#reconnected.delete(waiting);
  }

  async close(): Promise<void> {
    clearInterval(this.#asking);
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

  /** Each, whatever another one does; one that is added or ended meanwhile does not disturb. */
  #callAll(listeners: Iterable<() => void>): void {
    for (const listener of [...listeners]) {
      try {
        listener();
      } catch (error) {
        this.#log.warn({ err: error }, 'a listener to news of issuances failed');
      }
    }
  }

  async #askWhetherItLives(client: Redis): Promise<void> {
    if (client.status !== 'ready' || this.#isAsked) return;
    this.#isAsked = true;
    try {
      await client.ping();
      this.#isAsked = false;
    } catch {
      // It says nothing of itself: a half-open connection would stay so for as long as TCP is patient.
      if (client.status === 'ready') client.disconnect(true);
    }
  }
}

/** Nothing of what cannot be read: another version may speak otherwise. */
function idsIn(message: string): readonly string[] {
  try {
    const ids: unknown = JSON.parse(message);
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}
