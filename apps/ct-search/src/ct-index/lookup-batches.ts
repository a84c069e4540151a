import type { Lookup } from '@certwright/ct-index';
import { databaseProblem, timeUp } from './database-problem';

/** @param timeoutMs looked at again once there is a connection; 0 and less: it is too late */
export type Ask = (text: string, values: unknown[], timeoutMs: () => number) => Promise<unknown[]>;

export interface BatchLimits {
  /** Connections. */
  readonly mostUnderWay: number;
  /** Requests in one statement. */
  readonly mostAtOnce?: number;
  /** How long those who wait let one statement go on before another connection takes them, ms. */
  readonly patienceMs?: number;
}

/** The server works at them one after the other, a fraction of a millisecond each. */
const usuallyAtOnce = 16;

/**
 * Where everything is in memory a statement is done sooner, and the fewer there are the more is asked together; where it waits for a
 * disk, many wait beside each other.
 */
const usualPatienceMs = 10;

/** Of the time that the one with the least of it has, what a statement of several may take. */
const shareTogether = 0.3;

interface Waiting<Question, Answer> {
  readonly questions: readonly Question[];
  readonly timeoutMs: () => number;
  readonly answer: (answers: readonly Answer[]) => void;
  readonly fail: (error: unknown) => void;
}

/** Questions of one kind: each at once while few are asked, together what waits. */
export class LookupBatches<Question, Answer> {
  private readonly waiting: Waiting<Question, Answer>[] = [];
  private underWay = 0;
  private lastSentMs = -Infinity;
  private timer: NodeJS.Timeout | undefined;

  private readonly mostUnderWay: number;
  private readonly mostAtOnce: number;
  private readonly patienceMs: number;

  constructor(
    private readonly lookup: Lookup<Question, Answer>,
    private readonly ask: Ask,
    limits: BatchLimits,
  ) {
    this.mostUnderWay = limits.mostUnderWay;
    this.mostAtOnce = limits.mostAtOnce ?? usuallyAtOnce;
    // What cannot be asked together has nothing to wait for.
    this.patienceMs = this.mostAtOnce === 1 ? 0 : (limits.patienceMs ?? usualPatienceMs);
  }

  async look(questions: readonly Question[], timeoutMs: () => number): Promise<readonly Answer[]> {
    let isOver = false;
    try {
      return await new Promise((answer, fail) => {
        // Once it is answered, nothing that has yet to be sent is sent for it.
        this.waiting.push({ questions, timeoutMs: () => (isOver ? 0 : timeoutMs()), answer, fail });
        this.sendNext();
      });
    } finally {
      isOver = true;
    }
  }

  private sendNext(): void {
    if (this.underWay >= this.mostUnderWay || this.waiting.length === 0) return;
    if (this.underWay > 0 && performance.now() < this.lastSentMs + this.patienceMs) return this.sendLater();
    const batch = this.nextInTime();
    if (batch.length === 0) return;
    this.underWay += 1;
    this.lastSentMs = performance.now();
    void this.send(batch).finally(() => {
      this.underWay -= 1;
      this.sendNext();
    });
    // Those who are left, now or when this one has taken long.
    this.sendNext();
  }

  private sendLater(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.sendNext();
    }, this.patienceMs);
  }

  /** Nothing is asked for those whose time is up: where many wait it would take that of the others. */
  private nextInTime(): readonly Waiting<Question, Answer>[] {
    const batch: Waiting<Question, Answer>[] = [];
    while (batch.length < this.mostAtOnce) {
      const next = this.waiting.shift();
      if (next === undefined) break;
      if (next.timeoutMs() > 0) batch.push(next);
      else next.fail(timeUp());
    }
    return batch;
  }

  /** Nobody waits longer than that for somebody else's answer: each is asked alone while there is time. */
  private async send(batch: readonly Waiting<Question, Answer>[]): Promise<void> {
    let alone: Promise<unknown> | undefined;
    const askAlone = () => (alone ??= Promise.all(batch.map(async (each) => await this.send([each]))));
    const timer = batch.length > 1 ? setTimeout(askAlone, shareTogether * leastOf(batch)) : undefined;
    try {
      await this.answer(batch);
    } catch (error) {
      // What one of them has brought about is nothing to the others.
      if (batch.length > 1 && databaseProblem(error)?.code !== 'service_outage') void askAlone();
      if (alone === undefined) for (const { fail } of batch) fail(error);
    } finally {
      clearTimeout(timer);
      await alone;
    }
  }

  private async answer(batch: readonly Waiting<Question, Answer>[]): Promise<void> {
    const timeoutMs = () => Math.max(...batch.map((each) => each.timeoutMs()));
    const reader = {
      query: async <T>(text: string, values: unknown[] = []) =>
        (await this.ask(text, values, timeoutMs)) as T,
    };
    const asked = batch.flatMap(({ questions }) => questions);
    const answers = await this.lookup.of(reader, asked);
    if (answers.length !== asked.length)
      throw new Error(`${answers.length} answers to ${asked.length} questions: whose they are is not known`);
    let at = 0;
    for (const { questions, answer } of batch) answer(answers.slice(at, (at += questions.length)));
  }
}

/** Time left, ms. */
function leastOf(batch: readonly { readonly timeoutMs: () => number }[]): number {
  return Math.min(...batch.map(({ timeoutMs }) => timeoutMs()));
}
