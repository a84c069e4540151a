import { type RedisAccess, type RedisLog, whenReady } from '@certwright/redis-client';
import { ClientProxy, type ReadPacket } from '@nestjs/microservices';
import { connectRedis, type RedisConnection } from '../redis-connection';

export interface EventClientOptions {
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  readonly log: RedisLog;
  /** How long an event waits for a connection, ms. Default: it does not. */
  readonly readyWithinMs?: number;
}

/** Nest's client for events by publish/subscribe. An event is lost when Redis is unavailable; `emit` then fails. */
export class EventClient extends ClientProxy {
  readonly #connection: RedisConnection;
  readonly #readyWithinMs: number;

  constructor(redis: RedisAccess, { readyWithinMs = 0, ...options }: EventClientOptions) {
    super();
    this.initializeSerializer({});
    this.#readyWithinMs = readyWithinMs;
    this.#connection = connectRedis(redis, options);
  }

  override async connect(): Promise<void> {
    if (this.#readyWithinMs > 0) await whenReady(this.#connection.client, this.#readyWithinMs);
  }

  override async close(): Promise<void> {
    await this.#connection.close();
  }

  override unwrap<T>(): T {
    return this.#connection.client as T;
  }

  protected override publish(): never {
    throw new TypeError('an event has no response');
  }

  protected override async dispatchEvent<T>(event: ReadPacket): Promise<T> {
    const channel = this.normalizePattern(event.pattern as string);
    const message = JSON.stringify(this.serializer.serialize(event));
    return (await this.#connection.client.publish(channel, message)) as T;
  }
}
