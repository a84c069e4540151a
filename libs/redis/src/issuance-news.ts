import type { RedisAccess, RedisLog } from '@certwright/redis-client';
import type { OnApplicationShutdown } from '@nestjs/common';
import { lastValueFrom } from 'rxjs';
import { EventClient } from './transport/event-client';

/** Channel of the event that issuances have changed for callers; its data are their ids, as decimal strings. */
export const issuanceNewsChannel = ({ prefix }: Pick<RedisAccess, 'prefix'>): string =>
  `${prefix}:issuance-changed`;

export interface IssuanceNewsOptions {
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  readonly log: RedisLog;
}

/** Maximum ids waiting for the message under way; further ones are lost. Some minutes of the busiest worker. */
const maxWaiting = 10_000;
/** Maximum ids of one message: some kilobytes. */
const maxTogether = 500;

/**
 * Publishes to every copy of every API that an issuance has changed. Never throws and never waits: what Redis does
 * not accept at once is lost, and listeners query the database periodically. One per process.
 */
export class IssuanceNews implements OnApplicationShutdown {
  readonly #client: EventClient;
  readonly #channel: string;
  readonly #waiting = new Set<string>();
  #sending = false;

  constructor(redis: RedisAccess, { name, log }: IssuanceNewsOptions) {
    this.#client = new EventClient(redis, { name, log });
    this.#channel = issuanceNewsChannel(redis);
  }

  /** Call after the change is committed. */
  publish(issuanceId: string): void {
    if (this.#waiting.size < maxWaiting) this.#waiting.add(issuanceId);
    if (!this.#sending) void this.#send();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** One message at a time; later ids go into the next one. Never rejects. */
  async #send(): Promise<void> {
    this.#sending = true;
    while (this.#waiting.size > 0) {
      const ids = [...this.#waiting].slice(0, maxTogether);
      for (const id of ids) this.#waiting.delete(id);
      try {
        await lastValueFrom(this.#client.emit(this.#channel, ids), { defaultValue: undefined });
      } catch {
        // Redis is unavailable, which its connection has logged; waiting ids would be late.
        this.#waiting.clear();
      }
    }
    this.#sending = false;
  }
}
