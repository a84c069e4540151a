import type { RedisAccess, RedisLog } from '@certwright/redis-client';
import { issuanceNewsChannel, type IssuanceNewsOptions } from './issuance-news';
import { EventServer } from './transport/event-server';

export interface IssuanceNewsListenerOptions extends IssuanceNewsOptions {
  /** Interval of pings on the connection, in milliseconds. Default: 5,000. */
  readonly pingEveryMs?: number;
}

/**
 * Receives ids of changed issuances: one connection per process, any number of listeners. Messages may be lost;
 * listeners query the database after `on`, after `onReconnected`, and periodically.
 */
export class IssuanceNewsListener {
  readonly #server: EventServer;
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #reconnected = new Set<() => void>();
  readonly #log: RedisLog;

  constructor(redis: RedisAccess, { name, log, pingEveryMs }: IssuanceNewsListenerOptions) {
    this.#log = log;
    this.#server = new EventServer(redis, { name, log, ...(pingEveryMs && { pingEveryMs }) });
    const wake = async (ids: unknown) => await Promise.resolve(this.#wake(ids));
    this.#server.addHandler(issuanceNewsChannel(redis), wake, true);
    this.#server.status.subscribe((status) => {
      if (status === 'subscribed') this.#callAll(this.#reconnected);
    });
    this.#server.listen(() => undefined);
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
    await this.#server.close();
  }

  /** Ignores what it cannot read: another release may send something else. */
  #wake(ids: unknown): void {
    const known = Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
    for (const id of known) this.#callAll(this.#waiting.get(id) ?? []);
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
}
