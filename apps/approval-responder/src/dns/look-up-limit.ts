/** Max waiting look-ups per running one; each waits about as long as an index look-up takes. */
const waitingPerRunning = 64;

/** The database is not queried because too many look-ups wait. */
export class TooManyLookUps extends Error {
  constructor() {
    super('Too many names are being looked up.');
    this.name = 'TooManyLookUps';
  }
}

/** Limits the database load of a flood of random names; rejected clients retry, or query another server. */
export class LookUpLimit {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(private readonly maxRunning: number) {}

  /** @throws TooManyLookUps, at once; any rejection of `lookUp` */
  async run<T>(lookUp: () => Promise<T>): Promise<T> {
    if (this.#running < this.maxRunning) this.#running += 1;
    else await this.#turn();
    try {
      return await lookUp();
    } finally {
      const next = this.#waiting.shift();
      // The slot passes to the next one in the queue, so that later look-ups cannot overtake it.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  async #turn(): Promise<void> {
    if (this.#waiting.length >= this.maxRunning * waitingPerRunning) throw new TooManyLookUps();
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
