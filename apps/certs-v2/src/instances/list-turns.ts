import { InProgress } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Refusal } from '../wire/reasons';

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
  /** Of the newest list of each account: when the next one may begin. */
  readonly #turns = new Map<string, Promise<void>>();

  /**
   * Runs `build` once the account's earlier lists are built.
   *
   * @throws Refusal `rate_limited` when too many wait already
   */
  async run<T>(accountId: string, build: () => Promise<T>): Promise<T> {
    const leave = this.#lists.begin(accountId);
    if (leave === null) throw tooManyLists();
    const before = this.#turns.get(accountId);
    const { promise: turn, resolve: end } = Promise.withResolvers<void>();
    this.#turns.set(accountId, turn);
    await before;
    const timer = setTimeout(end, maxHoldUpMs);
    try {
      return await build();
    } finally {
      clearTimeout(timer);
      end();
      leave();
      if (this.#turns.get(accountId) === turn) this.#turns.delete(accountId);
    }
  }
}

function tooManyLists(): Refusal {
  const message = `${maxListsInTurn} lists of this account are waiting; send the next request when one of them has ended.`;
  return new Refusal('rate_limited', message, { retryAfterS: busyRetryAfterS });
}
