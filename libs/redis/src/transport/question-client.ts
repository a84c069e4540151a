import { randomUUID } from 'node:crypto';
import { type Redis, type RedisAccess, type RedisLog, whenReady } from '@certwright/redis-client';
import { ClientProxy, type ReadPacket, type WritePacket } from '@nestjs/microservices';
import { currentTraceparent } from '@certwright/tracing';
import { connectRedis, connectSubscriber, type RedisConnection } from '../redis-connection';
import { listKey, maxQueued, questionKey, responseChannel } from './question-keys';

export interface QuestionClientOptions {
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  readonly log: RedisLog;
}

/** Longer than any client waits, ms: the end of a question whose client was killed meanwhile. */
const lifetimeMs = 60_000;

/**
 * Nest's client for questions that one server takes, from a list. Two connections: one that sends, one that listens. A
 * question has no response when no server takes it, so every `send` needs a `timeout`.
 */
export class QuestionClient extends ClientProxy {
  readonly #channel: string;
  readonly #sending: RedisConnection;
  readonly #listening: RedisConnection<Redis>;
  readonly #log: RedisLog;
  #subscribed = deferred();

  constructor(redis: RedisAccess, { name, log }: QuestionClientOptions) {
    super();
    this.initializeSerializer({});
    this.initializeDeserializer({});
    this.#channel = responseChannel(redis.prefix, randomUUID());
    this.#sending = connectRedis(redis, { name: `${name}-asking`, log });
    this.#listening = connectSubscriber(redis, { name: `${name}-listening`, log });
    this.#log = log;
    this.#listen(this.#listening.client);
  }

  /** A question goes out once its response can be heard; a process that has just started waits for that. */
  override async connect(): Promise<void> {
    await Promise.all([this.#subscribed.promise, whenReady(this.#sending.client, lifetimeMs)]);
  }

  override async close(): Promise<void> {
    for (const callback of this.routingMap.values()) callback({ err: new Error('the client was closed') });
    this.routingMap.clear();
    await Promise.all([this.#sending.close(), this.#listening.close()]);
  }

  override unwrap<T>(): T {
    return this.#sending.client as T;
  }

  protected override publish(question: ReadPacket, callback: (packet: WritePacket) => void): () => void {
    const { client, prefix } = this.#sending;
    const packet = this.assignPacketId(question);
    const key = questionKey(prefix, packet.id);
    const list = listKey(prefix);
    const traceparent = currentTraceparent() ?? undefined;
    this.routingMap.set(packet.id, callback);
    const serialized = this.serializer.serialize(packet) as object;
    client
      .multi()
      .set(key, JSON.stringify({ ...serialized, answerTo: this.#channel, traceparent }), 'PX', lifetimeMs)
      .rpush(list, packet.id)
      .ltrim(list, -maxQueued, -1)
      .exec()
      .catch((err: unknown) => callback({ err }));
    return () => {
      // Without a response the client has given up: no server needs to look any more.
      if (this.routingMap.delete(packet.id)) client.del(key).catch(() => undefined);
    };
  }

  protected override dispatchEvent(): never {
    throw new TypeError('a question is no event');
  }

  #listen(client: Redis): void {
    client.on('ready', () => {
      client.subscribe(this.#channel).then(
        () => this.#subscribed.resolve(),
        (error: unknown) => {
          this.#log.warn({ err: error }, 'cannot subscribe to responses');
          client.disconnect(true);
        },
      );
    });
    client.on('close', () => {
      // Who waits for the first subscription waits on: a connection that could not be made closes too.
      if (this.#subscribed.settled()) this.#subscribed = deferred();
    });
    client.on('message', (_channel: string, message: string) => void this.#receive(message));
  }

  /** Never rejects: a message that cannot be read is logged. */
  async #receive(message: string): Promise<void> {
    try {
      const { id, err, response, isDisposed } = await this.deserializer.deserialize(JSON.parse(message));
      const callback = this.routingMap.get(id);
      if (callback === undefined) return;
      if (isDisposed === true || err !== undefined) this.routingMap.delete(id);
      callback({ err, response, isDisposed: isDisposed === true || err !== undefined });
    } catch (error) {
      this.#log.warn({ err: error }, 'response not read');
    }
  }
}

interface Deferred {
  readonly promise: Promise<void>;
  readonly settled: () => boolean;
  readonly resolve: () => void;
}

function deferred(): Deferred {
  let isSettled = false;
  let resolve = (): void => undefined;
  const promise = new Promise<void>((fulfil) => {
    resolve = () => {
      isSettled = true;
      fulfil();
    };
  });
  return { promise, settled: () => isSettled, resolve };
}
