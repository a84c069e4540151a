/** How many more may wait for one that runs; each waits about as long as a statement on an index takes. */
const waitingPerRunning = 64;

/** The database is not asked, since too many others are asking. */
export class TooManyLookUps extends Error {
  constructor() {
    super('Too many names are being looked up.');
    this.name = 'TooManyLookUps';
  }
}

/** Bounds what a flood of made-up names costs the database; those who are turned away ask again, or another copy. */
export class LookUpLimit {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(private readonly mostRunning: number) {}

  /** @throws TooManyLookUps, at once; whatever `lookUp` rejects with */
  async run<T>(lookUp: () => Promise<T>): Promise<T> {
    if (this.#running < this.mostRunning) this.#running += 1;
    else await this.#turn();
    try {
      return await lookUp();
    } finally {
      const next = this.#waiting.shift();
      // The place goes over to the next one: whoever comes meanwhile does not get before it.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  async #turn(): Promise<void> {
    if (this.#waiting.length >= this.mostRunning * waitingPerRunning) throw new TooManyLookUps();
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
