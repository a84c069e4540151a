import type { OnApplicationShutdown } from '@nestjs/common';
import { lastValueFrom } from 'rxjs';
import type { RedisLog } from './redis-connection';
import { EventClient } from './transport/event-client';

/** Channel of the event that issuances have changed for callers; its data are their ids, as decimal strings. */
export const issuanceNewsChannel = 'issuance-changed';

export interface IssuanceNewsOptions {
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  readonly log: RedisLog;
}

/** Ids that wait for the message under way, at most; further ones are lost. Some minutes of the busiest worker. */
const mostWaiting = 10_000;
/** Ids of one message: some kilobytes, whatever has gathered. */
const mostTogether = 500;

/**
 * Tells every copy of every API that an issuance has changed. Publishing never throws and never waits: what Redis does not
 * take at once is lost, and whoever listens looks into the database once in a while anyway. Built once per process.
 */
export class IssuanceNews implements OnApplicationShutdown {
  readonly #client: EventClient;
  readonly #waiting = new Set<string>();
  #sending = false;

  /** @param channel another name keeps specs apart */
  constructor(
    redisUrl: string,
    { name, log }: IssuanceNewsOptions,
    private readonly channel: string = issuanceNewsChannel,
  ) {
    this.#client = new EventClient(redisUrl, { name, log });
  }

  /** To be called once what has changed is committed. */
  publish(issuanceId: string): void {
    if (this.#waiting.size < mostWaiting) this.#waiting.add(issuanceId);
    if (!this.#sending) void this.#send();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** One message at a time: what comes meanwhile goes together with the next. Never rejects. */
  async #send(): Promise<void> {
    this.#sending = true;
    while (this.#waiting.size > 0) {
      const ids = [...this.#waiting].slice(0, mostTogether);
      for (const id of ids) this.#waiting.delete(id);
      try {
        await lastValueFrom(this.#client.emit(this.channel, ids), { defaultValue: undefined });
      } catch {
        // Redis is away, which its connection has logged; what waits would come too late.
        this.#waiting.clear();
      }
    }
    this.#sending = false;
  }
}
