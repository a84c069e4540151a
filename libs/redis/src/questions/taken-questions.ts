import { setTimeout as delay } from 'node:timers/promises';
import { connectRedis, type RedisConnection, type RedisLog } from '../redis-connection';
import { type AnswerEnvelope, listKey, type QuestionEnvelope, questionKey, readQuestion } from './envelope';
import { whenReady } from './when-ready';

/** `undefined`: no answer is sent. */
export type AnswerQuestion = (pattern: string, data: unknown) => Promise<unknown>;

export interface TakingOptions {
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  readonly log: RedisLog;
  /** Questions answered side by side; further ones wait in Redis, where another copy may take them. */
  readonly concurrency: number;
}

/** How long one wait for a question lasts, seconds; stopping takes as long, since a wait that is cut may lose a question. */
const waitS = 0.5;
/** A wait that is overdue by so much stands on a connection that nothing comes through any more. */
const overdueMs = 2_000;
/** After an error: Redis is away, and trying a little later is soon enough. */
const afterErrorMs = 250;

/** How long a question that was taken waits for the connection that answers; it ends by itself when nobody waits any more. */
const readyWithinMs = 5_000;

/**
 * The answering side of a queue of questions. Any number of copies may take from one list, and each question goes to
 * exactly one of them. A question whose taker dies is lost, as its asker finds out by waiting.
 */
export class TakenQuestions {
  readonly #taking: RedisConnection;
  readonly #answering: RedisConnection;
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(
    redisUrl: string,
    private readonly queue: string,
    private readonly options: TakingOptions,
  ) {
    const { name, log } = options;
    const commandTimeoutMs = waitS * 1_000 + overdueMs;
    this.#taking = connectRedis(redisUrl, { name: `${name}-taking`, log, commandTimeoutMs });
    this.#answering = connectRedis(redisUrl, { name: `${name}-answering`, log });
  }

  /** Returns at once and takes questions from when Redis is there, for ever. */
  start(answer: AnswerQuestion): void {
    this.#loop = this.#take(answer);
  }

  /** Rejects while no questions could be taken or answered: a readiness check. */
  async checkWrites(): Promise<void> {
    if (this.#taking.client.status !== 'ready')
      throw new Error('the connection that takes questions is away');
    await this.#answering.checkWrites();
  }

  /** Takes no more questions, and waits for those under way no longer than this. */
  async close(graceMs: number): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    const late = new AbortController();
    const grace = delay(graceMs, undefined, { signal: late.signal }).catch(() => undefined);
    await Promise.race([Promise.all(this.#running), grace]);
    late.abort();
    await Promise.all([this.#taking.close(), this.#answering.close()]);
  }

  async #take(answer: AnswerQuestion): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      if (this.#running.size >= this.options.concurrency) {
        await Promise.race([...this.#running, aborted(signal)]);
        continue;
      }
      try {
        const id = await this.#nextId();
        if (id !== null) this.#run(id, answer);
      } catch {
        // Redis is away, which the connection has logged.
        await delay(afterErrorMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #nextId(): Promise<string | null> {
    const { client } = this.#taking;
    try {
      const taken = await client.blpop(listKey(this.queue), waitS);
      return taken?.[1] ?? null;
    } catch (error) {
      // A half-open connection would stay so for as long as TCP is patient; a new one tells at once.
      if (client.status === 'ready') client.disconnect(true);
      throw error;
    }
  }

  #run(id: string, answer: AnswerQuestion): void {
    const running = this.#answer(id, answer)
      .catch((error: unknown) => this.options.log.warn({ err: error }, 'a question was not answered'))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #answer(id: string, answer: AnswerQuestion): Promise<void> {
    const { client } = this.#answering;
    // It was taken over the other connection.
    await whenReady(client, readyWithinMs);
    const text = await client.getdel(questionKey(this.queue, id));
    // Nobody waits any more.
    if (text === null) return;
    const question: QuestionEnvelope | null = readQuestion(text);
    if (question === null) throw new Error('a question could not be read');
    const found = await answer(question.pattern, question.data);
    if (found === undefined) return;
    const envelope: AnswerEnvelope = { id, answer: found };
    await whenReady(client, readyWithinMs);
    await client.publish(question.answerTo, JSON.stringify(envelope));
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
