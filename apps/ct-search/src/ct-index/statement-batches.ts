import { type BatchedStatement, parametersOfMany } from '@certwright/ct-persistence';
import { databaseErrorCode } from '@certwright/errors';
import { canceled } from './database-problem';

/** @param timeoutMs looked at once there is a connection; 0 and less: it is too late */
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
    const batch = this.waiting.splice(0, mostAtOnce);
    this.underWay += 1;
    void this.send(batch).finally(() => {
      this.underWay -= 1;
      this.sendNext();
    });
  }

  private async send(batch: readonly Waiting[]): Promise<void> {
    const [only] = batch;
    if (batch.length === 1 && only !== undefined) return await this.sendAlone(only);
    try {
      const parameters = parametersOfMany(batch.map(({ values }) => values));
      const timeoutMs = () => Math.max(...batch.map((each) => each.timeoutMs()));
      const rows = await this.ask(this.statement.many, parameters, timeoutMs);
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
