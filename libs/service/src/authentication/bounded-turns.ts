import { Problem } from '@certwright/errors';

export interface TurnBounds {
  /** How many run at a time. */
  readonly atOnce: number;
  /** How many may wait behind them. */
  readonly waiting: number;
}

/** Seconds; the queue drains sooner. */
const retryAfterS = 2;

/** Runs costly work, a few at a time. Beyond a short queue, work is refused. */
export class BoundedTurns {
  #running = 0;
  readonly #queue: (() => void)[] = [];

  constructor(private readonly bounds: TurnBounds) {}

  /** @throws Problem `service_outage` when the queue is full */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.bounds.atOnce) await this.#turn();
    else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      // The next one takes over this turn, so the count stays.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  async #turn(): Promise<void> {
    if (this.#queue.length >= this.bounds.waiting) {
      throw new Problem('service_outage', 'Too many passwords are being checked at the moment.', {
        retryAfterS,
      });
    }
    await new Promise<void>((resolve) => this.#queue.push(resolve));
  }
}
