import { Problem } from '@certwright/errors';
import { Injectable } from '@nestjs/common';
import { InProgress } from './in-progress';
import { Turns } from './turns';

/** Lists of one account, the one that is being built included: about 20 s of large ones. */
export const maxListsInTurn = 50;

/** Retry-After of a refused list, seconds. */
const busyRetryAfterS = 5;

/** A list that waits for the database or for web servers does not keep the process busy: the next one begins, ms. */
const maxHoldUpMs = 1_000;

/**
 * Lists of one account are built one after the other, in this process: each keeps it busy for a while, and a dozen of them at the
 * same time delayed every other account by seconds.
 */
@Injectable()
export class ListTurns {
  readonly #lists = new InProgress(maxListsInTurn);
  readonly #turns = new Turns({ atOnce: Infinity, atOnceOfAccount: 1 });

  /**
   * Runs `build` once the account's earlier lists are built.
   *
   * @throws Problem `rate_limited` when too many wait already
   */
  async run<T>(accountId: string, build: () => Promise<T>): Promise<T> {
    const leave = this.#lists.begin(accountId);
    if (leave === null) throw tooManyLists();
    const end = await this.#turns.begin(accountId);
    const timer = setTimeout(end, maxHoldUpMs);
    try {
      return await build();
    } finally {
      clearTimeout(timer);
      end();
      leave();
    }
  }
}

function tooManyLists(): Problem {
  const message = `${maxListsInTurn} lists of this account are waiting; send the next request when one of them has ended.`;
  return new Problem('rate_limited', message, { retryAfterS: busyRetryAfterS });
}
