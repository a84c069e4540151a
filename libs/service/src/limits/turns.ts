import { InProgress } from './in-progress';

export interface TurnLimits {
  /** Of all accounts. */
  readonly atOnce: number;
  readonly atOnceOfAccount: number;
}

/** Work of accounts in this process, in the order of requests: some at a time, so that one account does not delay the others. */
export class Turns {
  readonly #ofAccounts: InProgress;
  /** Each begins its turn if the limits allow it. */
  readonly #waiting = new Set<() => boolean>();
  #running = 0;

  constructor(private readonly limits: TurnLimits) {
    this.#ofAccounts = new InProgress(limits.atOnceOfAccount);
  }

  /** @returns ends the turn, and may be called again; null: the turn did not come within `maxWaitMs` */
  begin(accountId: string, maxWaitMs: number): Promise<(() => void) | null>;
  begin(accountId: string): Promise<() => void>;
  async begin(accountId: string, maxWaitMs?: number): Promise<(() => void) | null> {
    return (
      this.#beginNow(accountId) ??
      (await new Promise((resolve) => {
        const settle = (end: (() => void) | null) => {
          clearTimeout(timer);
          this.#waiting.delete(beginWaiting);
          resolve(end);
          return end !== null;
        };
        const timer = maxWaitMs === undefined ? undefined : setTimeout(settle, maxWaitMs, null);
        const beginWaiting = () => {
          const end = this.#beginNow(accountId);
          return end !== null && settle(end);
        };
        this.#waiting.add(beginWaiting);
      }))
    );
  }

  #beginNow(accountId: string): (() => void) | null {
    const leave = this.#running < this.limits.atOnce ? this.#ofAccounts.begin(accountId) : null;
    if (leave === null) return null;
    this.#running += 1;
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      this.#running -= 1;
      leave();
      for (const begin of this.#waiting) if (begin()) break;
    };
  }
}
