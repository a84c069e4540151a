import type { RedisAccess, RedisLog } from '@certwright/redis-client';
import type { OnApplicationShutdown } from '@nestjs/common';
import { lastValueFrom } from 'rxjs';
import { EventClient } from './transport/event-client';
import { EventServer } from './transport/event-server';

/** Channel of the event that there are new rows in the outbox; its data are empty. */
const outboxNewsChannel = ({ prefix }: Pick<RedisAccess, 'prefix'>): string => `${prefix}:outbox-written`;

/** Pause after an event, ms: a relay takes the rows of many commits together. */
const pauseMs = 20;

export interface OutboxNewsOptions {
  /** Of the process; the names of the connections begin with it. */
  readonly name: string;
  readonly log: RedisLog;
}

/** What knows when a transaction of this process that wrote to the outbox is committed. */
export interface OutboxCommits {
  /** @param listener must not throw */
  onCommitted(listener: () => void): void;
}

/**
 * Tells the relays of every process that a transaction wrote to the outbox. The first event is published at once, those of the
 * next moments together. What Redis does not accept at once is lost, and relays look periodically. One per process.
 */
export class OutboxNews implements OnApplicationShutdown {
  readonly #client: EventClient;
  readonly #channel: string;
  #pause: NodeJS.Timeout | null = null;
  #hasMore = false;

  constructor(redis: RedisAccess, commits: OutboxCommits, { name, log }: OutboxNewsOptions) {
    this.#client = new EventClient(redis, { name: `${name}-outbox-news`, log });
    this.#channel = outboxNewsChannel(redis);
    commits.onCommitted(() => {
      this.#hasMore = true;
      if (this.#pause === null) this.#send();
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  async close(): Promise<void> {
    if (this.#pause !== null) clearTimeout(this.#pause);
    await this.#client.close();
  }

  #send(): void {
    this.#pause = null;
    if (!this.#hasMore) return;
    this.#hasMore = false;
    this.#pause = setTimeout(() => this.#send(), pauseMs).unref();
    // Redis is unavailable: its connection has logged that.
    lastValueFrom(this.#client.emit(this.#channel, {}), { defaultValue: undefined }).catch(() => undefined);
  }
}

/** Receives the news of all processes. One per process. */
export class OutboxNewsListener implements OnApplicationShutdown {
  readonly #server: EventServer;
  readonly #channel: string;

  constructor(redis: RedisAccess, { name, log }: OutboxNewsOptions) {
    this.#server = new EventServer(redis, { name: `${name}-outbox-listener`, log });
    this.#channel = outboxNewsChannel(redis);
  }

  /** Calls `listener` for all news, and whenever the subscription is active again: earlier events are lost. */
  onNews(listener: () => void): void {
    this.#server.addHandler(this.#channel, async () => await Promise.resolve(listener()), true);
    this.#server.status.subscribe((status) => {
      if (status === 'subscribed') listener();
    });
    this.#server.listen(() => undefined);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  async close(): Promise<void> {
    await this.#server.close();
  }
}
