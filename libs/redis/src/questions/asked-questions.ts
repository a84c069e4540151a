import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { connectRedis, type RedisConnection, type RedisLog } from '../redis-connection';
import { answerChannel, listKey, mostQueued, questionKey, readAnswer } from './envelope';
import { whenReady } from './when-ready';

export interface AskingOptions {
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  readonly log: RedisLog;
}

/** The asking side of a queue of questions. Two connections: one that asks, one that listens. */
export class AskedQuestions {
  readonly #channel: string;
  readonly #asking: RedisConnection;
  readonly #listening: RedisConnection;
  readonly #waiting = new Map<string, (answer: unknown) => void>();
  #subscribed = deferred();

  constructor(
    redisUrl: string,
    private readonly queue: string,
    { name, log }: AskingOptions,
  ) {
    this.#channel = answerChannel(queue, randomUUID());
    this.#asking = connectRedis(redisUrl, { name: `${name}-asking`, log });
    this.#listening = connectRedis(redisUrl, { name: `${name}-listening`, log });
    this.#listen(this.#listening.client, log);
  }

  /**
   * Resolves with the answer, or with `undefined` when there is none in time, whatever the reason: nobody answers, Redis
   * is away, the answer was lost. Never rejects.
   */
  async ask(pattern: string, data: unknown, withinMs: number): Promise<unknown> {
    const id = randomUUID();
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<unknown>((resolve, reject) => {
        timer = setTimeout(resolve, withinMs, undefined);
        this.#waiting.set(id, resolve);
        this.#send(id, { pattern, data, answerTo: this.#channel }, withinMs).catch(reject);
      });
    } catch {
      // Redis is away, which its connection has logged.
      return undefined;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  async close(): Promise<void> {
    for (const giveUp of this.#waiting.values()) giveUp(undefined);
    await Promise.all([this.#asking.close(), this.#listening.close()]);
  }

  /** The question goes out once its answer can be heard; a process that has just started waits for that. */
  async #send(id: string, envelope: object, withinMs: number): Promise<void> {
    const { client } = this.#asking;
    await Promise.all([this.#subscribed.promise, whenReady(client, withinMs)]);
    if (!this.#waiting.has(id)) return;
    const list = listKey(this.queue);
    await client
      .multi()
      .set(questionKey(this.queue, id), JSON.stringify(envelope), 'PX', withinMs)
      .rpush(list, id)
      .ltrim(list, -mostQueued, -1)
      .exec();
  }

  #listen(client: Redis, log: RedisLog): void {
    client.on('ready', () => {
      client.subscribe(this.#channel).then(
        () => this.#subscribed.resolve(),
        (error: unknown) => {
          log.warn({ err: error }, 'cannot subscribe to answers');
          client.disconnect(true);
        },
      );
    });
    client.on('close', () => {
      // Who waits for the first subscription waits on: a connection that could not be made closes too.
      if (this.#subscribed.settled()) this.#subscribed = deferred();
    });
    client.on('message', (_channel: string, message: string) => {
      const read = readAnswer(message);
      if (read !== null) this.#waiting.get(read.id)?.(read.answer);
    });
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
