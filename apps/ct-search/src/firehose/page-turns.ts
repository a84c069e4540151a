import { Turns } from '@certwright/service';
import { Expiry } from '../ct-index/database-problem';
import type { Caller } from '../ct-index/index-readers';

/**
 * Max pages at a time, which keep PostgreSQL and this process busy. A page has a megabyte of short-lived objects: of more pages,
 * most of them outlive a collection of the young generation.
 */
const atOnce = 3;

/** The last one is for other accounts. */
const atOnceOfAccount = atOnce - 1;

/** Pages are made a few at a time, in the order of requests. */
export class PageTurns {
  private readonly turns = new Turns({ atOnce, atOnceOfAccount });
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
    const end = await this.turns.begin(accountId, timeLimitMs);
    if (end === null) throw this.expiry.problem;
    try {
      const page = await work();
      this.expiry.ended();
      return page;
    } catch (error) {
      this.expiry.ended(error);
      throw error;
    } finally {
      end();
    }
  }
}
