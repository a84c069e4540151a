import { Expiry } from '../ct-index/database-problem';
import type { Caller } from '../ct-index/index-readers';

/**
 * Max pages at a time, which keep PostgreSQL and this process busy. A page has a megabyte of short-lived objects: of more pages,
 * most of them outlive a collection of the young generation.
 */
const atOnce = 3;

/** The last one is for other accounts. */
const atOnceOfAccount = atOnce - 1;

interface Waiting {
  readonly accountId: string;
  readonly begin: () => void;
}

/** Pages are made a few at a time, in the order of requests. */
export class PageTurns {
  /** Accounts of the pages that are being made. */
  private readonly running: string[] = [];
  private waiting: Waiting[] = [];
  private readonly expiry = new Expiry();

  /**
   * @param work begins when it is its turn. Objects that existed during the wait must not refer to what it reads: V8 has moved them to
   *   the old generation, where they keep it alive until a full collection, even when they are no longer used
   * @throws Problem `timeout`, or `service_outage` during an outage, if it is not its turn within the time limit; what `work` throws
   */
  async run<T>(
    { accountId = '', timeLimitMs }: Pick<Caller, 'accountId' | 'timeLimitMs'>,
    work: () => Promise<T>,
  ): Promise<T> {
    await this.turn(accountId, timeLimitMs);
    try {
      const page = await work();
      this.expiry.ended();
      return page;
    } catch (error) {
      this.expiry.ended(error);
      throw error;
    } finally {
      this.running.splice(this.running.indexOf(accountId), 1);
      this.beginNext();
    }
  }

  private async turn(accountId: string, timeLimitMs: number): Promise<void> {
    await new Promise<void>((begin, fail) => {
      const waiting: Waiting = {
        accountId,
        begin: () => {
          clearTimeout(timer);
          begin();
        },
      };
      const timer = setTimeout(() => {
        this.waiting = this.waiting.filter((each) => each !== waiting);
        fail(this.expiry.problem);
      }, timeLimitMs);
      this.waiting.push(waiting);
      this.beginNext();
    });
  }

  private beginNext(): void {
    if (this.running.length >= atOnce) return;
    const at = this.waiting.findIndex(({ accountId }) => this.runningOf(accountId) < atOnceOfAccount);
    const [next] = at < 0 ? [] : this.waiting.splice(at, 1);
    if (next === undefined) return;
    this.running.push(next.accountId);
    next.begin();
  }

  private runningOf(accountId: string): number {
    return this.running.filter((each) => each === accountId).length;
  }
}
