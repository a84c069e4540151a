import type { Redis, RedisAccess, RedisLog } from '@certwright/redis-client';
import {
  BaseRpcContext,
  type CustomTransportStrategy,
  type IncomingEvent,
  Server,
} from '@nestjs/microservices';
import { connectSubscriber, type RedisConnection } from '../redis-connection';

export interface EventServerOptions {
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  readonly log: RedisLog;
  /** How often the connection is checked, ms. Default: 5,000. */
  readonly pingEveryMs?: number;
}

/**
 * Nest's server for events by publish/subscribe: every copy of every process hears each of them, unless it is disconnected
 * at that moment. The pattern of an event is its channel. Redis may be unavailable at the start, and later.
 */
export class EventServer
  extends Server<Record<never, never>, 'subscribed' | 'disconnected'>
  implements CustomTransportStrategy
{
  readonly #connection: RedisConnection<Redis>;
  readonly #log: RedisLog;
  readonly #pinging: NodeJS.Timeout;
  #isPinged = false;

  constructor(redis: RedisAccess, { name, log, pingEveryMs = 5_000 }: EventServerOptions) {
    super();
    this.initializeSerializer({});
    this.initializeDeserializer({});
    this.#log = log;
    this.#connection = connectSubscriber(redis, { name, log });
    this.#pinging = setInterval(() => void this.#ping(), pingEveryMs).unref();
  }

  /** `status` emits `subscribed` whenever events can be heard (again): what was sent before is lost. */
  override listen(listening: () => void): void {
    const { client } = this.#connection;
    const subscribe = () => {
      this.#isPinged = false;
      void this.#subscribe(client);
    };
    client.on('ready', subscribe);
    client.on('close', () => this._status$.next('disconnected'));
    client.on('message', (channel: string, message: string) => void this.#receive(channel, message));
    // It was connected before `listen`, and emits no `ready` any more.
    if (client.status === 'ready') subscribe();
    listening();
  }

  override async close(): Promise<void> {
    clearInterval(this.#pinging);
    this._status$.complete();
    await this.#connection.close();
  }

  override on(): never {
    throw new TypeError('see `status`');
  }

  override unwrap<T>(): T {
    return this.#connection.client as T;
  }

  async #subscribe(client: Redis): Promise<void> {
    try {
      await client.subscribe(...this.messageHandlers.keys());
      this._status$.next('subscribed');
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot subscribe to events');
      if (client.status === 'ready') client.disconnect(true);
    }
  }

  async #receive(channel: string, message: string): Promise<void> {
    try {
      const event = (await this.deserializer.deserialize(parsed(message), { channel })) as IncomingEvent;
      await this.handleEvent(channel, event, new BaseRpcContext([channel]));
    } catch (error) {
      this.#log.warn({ err: error, channel }, 'event not handled');
    }
  }

  /** A half-open connection would stay so for as long as TCP is patient. */
  async #ping(): Promise<void> {
    const { client } = this.#connection;
    if (client.status !== 'ready' || this.#isPinged) return;
    this.#isPinged = true;
    try {
      await client.ping();
      this.#isPinged = false;
    } catch {
      if (client.status === 'ready') client.disconnect(true);
    }
  }
}

function parsed(message: string): unknown {
  try {
    return JSON.parse(message);
  } catch {
    return message;
  }
}
