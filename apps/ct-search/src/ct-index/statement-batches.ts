import { type BatchedStatement, parametersOfMany } from '@certwright/ct-persistence';
import { databaseErrorCode } from '@certwright/errors';
import { canceled, timeUp } from './database-problem';

/** @param timeoutMs looked at again once there is a connection; 0 and less: it is too late */
export type Ask = (text: string, values: unknown[], timeoutMs: () => number) => Promise<unknown[]>;

/** At once at most: the server works at them one after the other, a fraction of a millisecond each. */
const mostAtOnce = 16;

interface Waiting {
  readonly values: unknown[];
  readonly timeoutMs: () => number;
  readonly answer: (rows: unknown[]) => void;
  readonly fail: (error: unknown) => void;
}

/** One statement for whoever asks it: at once while few do, together while many wait. */
export class StatementBatches {
  private readonly waiting: Waiting[] = [];
  private underWay = 0;

  /** @param mostUnderWay connections that it uses at most */
  constructor(
    private readonly statement: BatchedStatement,
    private readonly ask: Ask,
    private readonly mostUnderWay: number,
  ) {}

  async query(values: unknown[], timeoutMs: () => number): Promise<unknown[]> {
    return await new Promise((answer, fail) => {
      this.waiting.push({ values, timeoutMs, answer, fail });
      this.sendNext();
    });
  }

  private sendNext(): void {
    if (this.underWay >= this.mostUnderWay || this.waiting.length === 0) return;
    const batch = this.nextInTime();
    if (batch.length === 0) return;
    this.underWay += 1;
    void this.send(batch).finally(() => {
      this.underWay -= 1;
      this.sendNext();
    });
  }

  /** Nothing is asked for those whose time is up: where many wait it would take that of the others. */
  private nextInTime(): readonly Waiting[] {
    const batch: Waiting[] = [];
    while (batch.length < mostAtOnce) {
      const next = this.waiting.shift();
      if (next === undefined) break;
      if (next.timeoutMs() > 0) batch.push(next);
      else next.fail(timeUp());
    }
    return batch;
  }

  private async send(batch: readonly Waiting[]): Promise<void> {
    const [only] = batch;
    if (batch.length === 1 && only !== undefined) return await this.sendAlone(only);
    try {
      const parameters = parametersOfMany(batch.map(({ values }) => values));
      const timeoutMs = () => Math.max(...batch.map((each) => each.timeoutMs()));
      const rows = await this.ask(this.statement.many, parameters, timeoutMs);
      if (rows.length !== batch.length)
        throw new Error(`${rows.length} rows for ${batch.length} who asked: whose they are is not known`);
      for (const [nth, { answer }] of batch.entries()) answer(rows.slice(nth, nth + 1));
    } catch (error) {
      // Together they may take longer than each may.
      if (databaseErrorCode(error) === canceled) await Promise.all(batch.map((each) => this.sendAlone(each)));
      else for (const { fail } of batch) fail(error);
    }
  }

  private async sendAlone({ values, timeoutMs, answer, fail }: Waiting): Promise<void> {
    await this.ask(this.statement.one, values, timeoutMs).then(answer, fail);
  }
}
