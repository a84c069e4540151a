import type { Lookup } from '@certwright/ct-index';
import { Expiry } from './database-problem';

/** @param timeoutMs checked again once there is a connection; 0 and less: it has expired */
export type RunQuery = (text: string, values: unknown[], timeoutMs: () => number) => Promise<unknown[]>;

export interface BatchLimits {
  /** Max connections. */
  readonly maxRunning: number;
  /** Max requests in one statement. */
  readonly maxPerBatch?: number;
  /** How long waiting requests wait for a running statement before another connection runs them, ms. */
  readonly batchDelayMs?: number;
}

/** Default batch size: PostgreSQL runs them one after the other, a fraction of a millisecond each. */
const defaultMaxPerBatch = 16;

/**
 * With all data in memory, statements are fast, and fewer connections mean larger batches; with disk reads, many statements
 * wait in parallel.
 */
const defaultBatchDelayMs = 10;

/** Max time of a batch, as a share of the shortest remaining time in it. */
const batchTimeShare = 0.3;

interface Waiting<Input, Result> {
  readonly inputs: readonly Input[];
  readonly timeoutMs: () => number;
  readonly resolve: (results: readonly Result[]) => void;
  readonly fail: (error: unknown) => void;
}

/** Lookups of one kind: run immediately under low load, and those of the same tick and waiting ones in batches. */
export class LookupBatches<Input, Result> {
  private readonly waiting: Waiting<Input, Result>[] = [];
  private running = 0;
  private lastSentMs = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private sending: NodeJS.Immediate | undefined;
  private readonly expiry = new Expiry();

  private readonly maxRunning: number;
  private readonly maxPerBatch: number;
  private readonly batchDelayMs: number;

  constructor(
    private readonly lookup: Lookup<Input, Result>,
    private readonly query: RunQuery,
    limits: BatchLimits,
  ) {
    this.maxRunning = limits.maxRunning;
    this.maxPerBatch = limits.maxPerBatch ?? defaultMaxPerBatch;
    // A lookup that cannot be batched has no reason to wait.
    this.batchDelayMs = this.maxPerBatch === 1 ? 0 : (limits.batchDelayMs ?? defaultBatchDelayMs);
  }

  look(inputs: readonly Input[], timeoutMs: () => number): Promise<readonly Result[]> {
    return new Promise((resolve, reject) => {
      // Once it is settled, its unsent lookups are dropped.
      let isOver = false;
      this.waiting.push({
        inputs,
        timeoutMs: () => (isOver ? 0 : timeoutMs()),
        resolve: (results) => {
          isOver = true;
          resolve(results);
        },
        fail: (error) => {
          isOver = true;
          reject(error);
        },
      });
      this.sendSoon();
    });
  }

  /** The requests that a batch has answered, or that arrived together, continue in the same tick. */
  private sendSoon(): void {
    this.sending ??= setImmediate(() => {
      this.sending = undefined;
      this.sendNext();
    });
  }

  private sendNext(): void {
    if (this.running >= this.maxRunning || this.waiting.length === 0) return;
    if (this.running > 0 && performance.now() < this.lastSentMs + this.batchDelayMs) return this.sendLater();
    const batch = this.takeBatch();
    if (batch.length === 0) return;
    this.running += 1;
    this.lastSentMs = performance.now();
    void this.send(batch).finally(() => {
      this.running -= 1;
      this.sendNext();
    });
    // The remaining ones, immediately or when this batch has taken long.
    this.sendNext();
  }

  private sendLater(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.sendNext();
    }, this.batchDelayMs);
  }

  /** Drops expired lookups: under high load they would take the time of others. */
  private takeBatch(): readonly Waiting<Input, Result>[] {
    const batch: Waiting<Input, Result>[] = [];
    while (batch.length < this.maxPerBatch) {
      const next = this.waiting.shift();
      if (next === undefined) break;
      if (next.timeoutMs() > 0) batch.push(next);
      else next.fail(this.expiry.problem);
    }
    return batch;
  }

  /** Limits how long a lookup waits for others in its batch: after that, each runs alone while there is time. */
  private async send(batch: readonly Waiting<Input, Result>[]): Promise<void> {
    let alone: Promise<unknown> | undefined;
    const queryAlone = () => (alone ??= Promise.all(batch.map(async (each) => await this.send([each]))));
    const timer = batch.length > 1 ? setTimeout(queryAlone, batchTimeShare * minTimeoutMs(batch)) : undefined;
    try {
      await this.run(batch);
      this.expiry.ended();
    } catch (error) {
      this.expiry.ended(error);
      // An error of one lookup must not affect the others.
      if (batch.length > 1 && !this.expiry.isOfOutage) void queryAlone();
      if (alone === undefined) for (const { fail } of batch) fail(error);
    } finally {
      clearTimeout(timer);
      await alone;
    }
  }

  private async run(batch: readonly Waiting<Input, Result>[]): Promise<void> {
    const timeoutMs = () => Math.max(...batch.map((each) => each.timeoutMs()));
    const reader = {
      query: async <T>(text: string, values: unknown[] = []) =>
        (await this.query(text, values, timeoutMs)) as T,
    };
    const all = batch.flatMap(({ inputs }) => inputs);
    const results = await this.lookup.of(reader, all);
    if (results.length !== all.length) throw new Error(`${results.length} results for ${all.length} inputs`);
    let at = 0;
    for (const { inputs, resolve } of batch) resolve(results.slice(at, (at += inputs.length)));
  }
}

/** Remaining time, ms. */
function minTimeoutMs(batch: readonly { readonly timeoutMs: () => number }[]): number {
  return Math.min(...batch.map(({ timeoutMs }) => timeoutMs()));
}
