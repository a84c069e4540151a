import type { Lookup } from '@certwright/ct-index';
import { databaseProblem, timeUp } from './database-problem';

/** @param timeoutMs checked again once there is a connection; 0 and less: it has expired */
export type Ask = (text: string, values: unknown[], timeoutMs: () => number) => Promise<unknown[]>;

export interface BatchLimits {
  /** Max connections. */
  readonly mostUnderWay: number;
  /** Max requests in one statement. */
  readonly mostAtOnce?: number;
  /** How long waiting requests wait for a running statement before another connection runs them, ms. */
  readonly patienceMs?: number;
}

/** Default batch size: PostgreSQL runs them one after the other, a fraction of a millisecond each. */
const usuallyAtOnce = 16;

/**
 * With all data in memory, statements are fast, and fewer connections mean larger batches; with disk reads, many statements
 * wait in parallel.
 */
const usualPatienceMs = 10;

/** Max time of a batch, as a share of the shortest remaining time in it. */
const shareTogether = 0.3;

interface Waiting<Question, Answer> {
  readonly questions: readonly Question[];
  readonly timeoutMs: () => number;
  readonly answer: (answers: readonly Answer[]) => void;
  readonly fail: (error: unknown) => void;
}

/** Lookups of one kind: run immediately under low load, and waiting ones in batches. */
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
    // A lookup that cannot be batched has no reason to wait.
    this.patienceMs = this.mostAtOnce === 1 ? 0 : (limits.patienceMs ?? usualPatienceMs);
  }

  async look(questions: readonly Question[], timeoutMs: () => number): Promise<readonly Answer[]> {
    let isOver = false;
    try {
      return await new Promise((answer, fail) => {
        // Once it is settled, its unsent lookups are dropped.
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
    // The remaining ones, immediately or when this batch has taken long.
    this.sendNext();
  }

  private sendLater(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.sendNext();
    }, this.patienceMs);
  }

  /** Drops expired lookups: under high load they would take the time of others. */
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

  /** Limits how long a lookup waits for others in its batch: after that, each runs alone while there is time. */
  private async send(batch: readonly Waiting<Question, Answer>[]): Promise<void> {
    let alone: Promise<unknown> | undefined;
    const askAlone = () => (alone ??= Promise.all(batch.map(async (each) => await this.send([each]))));
    const timer = batch.length > 1 ? setTimeout(askAlone, shareTogether * leastOf(batch)) : undefined;
    try {
      await this.answer(batch);
    } catch (error) {
      // An error of one lookup must not affect the others.
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

/** Remaining time, ms. */
function leastOf(batch: readonly { readonly timeoutMs: () => number }[]): number {
  return Math.min(...batch.map(({ timeoutMs }) => timeoutMs()));
}
