import { setTimeout as delay } from 'node:timers/promises';
import { type RedisAccess, type RedisLog, whenReady } from '@certwright/redis-client';
import {
  BaseRpcContext,
  type CustomTransportStrategy,
  type IncomingRequest,
  type MessageHandler,
  Server,
  type OutgoingResponse,
} from '@nestjs/microservices';
import { inSpan } from '@certwright/tracing';
import { connectRedis, type RedisConnection } from '../redis-connection';
import { listKey, questionKey } from './question-keys';

export interface QuestionServerOptions {
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  readonly log: RedisLog;
  /** Questions answered side by side; further ones wait in Redis, where another copy may take them. */
  readonly concurrency: number;
  /** How long questions under way may take to be answered when the server is closed, ms. */
  readonly drainMs: number;
}

/** How long one wait for a question lasts, seconds; stopping takes as long, since a wait that is cut may lose a question. */
const waitS = 1;
/** A wait that is overdue by this much is on a dead connection. */
const overdueMs = 2_000;
/** After an error: Redis is unavailable; retry later. */
const afterErrorMs = 250;

/** How long a taken question waits for the responding connection; its client gives up on its own. */
const readyWithinMs = 5_000;

/**
 * Nest's server for questions from a list (docs/decisions/0004): any number of copies may take from it, and each question
 * goes to exactly one of them. A question whose server dies is lost, as its client finds out by waiting.
 */
export class QuestionServer extends Server implements CustomTransportStrategy {
  readonly #taking: RedisConnection;
  readonly #responding: RedisConnection;
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  /** Ends the wait for a place. */
  #wake = (): void => undefined;

  constructor(
    redis: RedisAccess,
    private readonly options: QuestionServerOptions,
  ) {
    super();
    this.initializeSerializer({});
    this.initializeDeserializer({});
    const { name, log } = options;
    const commandTimeoutMs = waitS * 1_000 + overdueMs;
    this.#taking = connectRedis(redis, { name: `${name}-taking`, log, commandTimeoutMs });
    this.#responding = connectRedis(redis, { name: `${name}-answering`, log });
  }

  /** Takes questions from when Redis is available, for ever. */
  override listen(listening: () => void): void {
    this.#loop = this.#take();
    listening();
  }

  /** Rejects while no questions could be taken or answered: a readiness check. */
  async checkWrites(): Promise<void> {
    if (this.#taking.client.status !== 'ready')
      throw new Error('the connection that takes questions is not ready');
    await this.#responding.checkWrites();
  }

  /** Takes no more questions, and waits for those under way. */
  override async close(): Promise<void> {
    this.#stopping.abort();
    this.#wake();
    await this.#loop;
    const late = new AbortController();
    const drained = delay(this.options.drainMs, undefined, { signal: late.signal }).catch(() => undefined);
    await Promise.race([Promise.all(this.#running), drained]);
    late.abort();
    await Promise.all([this.#taking.close(), this.#responding.close()]);
  }

  override on(): never {
    throw new TypeError('questions have no events to listen to');
  }

  override unwrap<T>(): T {
    return this.#responding.client as T;
  }

  async #take(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      if (this.#running.size >= this.options.concurrency) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      try {
        const id = await this.#nextId();
        if (id !== null) this.#run(id);
      } catch {
        // Redis is unavailable, which the connection has logged.
        await delay(afterErrorMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #nextId(): Promise<string | null> {
    const { client, prefix } = this.#taking;
    const taken = await client.blpop(listKey(prefix), waitS);
    return taken?.[1] ?? null;
  }

  #run(id: string): void {
    const running = this.#respond(id)
      .catch((error: unknown) => this.options.log.warn({ err: error }, 'a question was not processed'))
      .finally(() => {
        this.#running.delete(running);
        this.#wake();
      });
    this.#running.add(running);
  }

  async #respond(id: string): Promise<void> {
    // It was taken over the other connection.
    const { client, prefix } = this.#responding;
    await whenReady(client, readyWithinMs);
    const text = await client.getdel(questionKey(prefix, id));
    // The client has given up.
    if (text === null) return;
    const question = (await this.deserializer.deserialize(JSON.parse(text), {
      channel: listKey(prefix),
    })) as Question;
    const handler = this.getHandlerByPattern(question.pattern);
    // A question of a newer client has no response, as if there were no prober.
    if (handler === null)
      return this.options.log.warn({ pattern: question.pattern }, 'question without handler');
    const { traceparent } = question;
    const cause = typeof traceparent === 'string' ? ({ traceparent, as: 'parent' } as const) : null;
    await inSpan(`prober ${question.pattern}`, { kind: 'server', cause }, async () => {
      await this.#handle(question, handler, id);
    });
  }

  async #handle(question: Question, handler: MessageHandler, id: string): Promise<void> {
    const responses = this.transformToObservable(
      handler(question.data, new BaseRpcContext([question.pattern])),
    );
    await new Promise<void>((resolve) => {
      this.send(responses, async (packet) => {
        try {
          await this.#publish(question.answerTo, Object.assign(packet, { id }));
        } finally {
          if (packet.isDisposed === true) resolve();
        }
      });
    });
  }

  async #publish(channel: string, packet: OutgoingResponse): Promise<void> {
    await whenReady(this.#responding.client, readyWithinMs);
    await this.#responding.client.publish(channel, JSON.stringify(this.serializer.serialize(packet)));
  }
}

type Question = IncomingRequest & {
  /** Channel of the client. */
  readonly answerTo: string;
  /** W3C traceparent; absent: the client records no spans. */
  readonly traceparent?: string;
};
