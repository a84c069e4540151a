interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs one batch at a time. Items of one turn of the event loop share a batch, and those that arrive while it runs form the
 * next one, so that batches grow with the load, and no item waits without load.
 */
export class Batches<Item, Result> {
  #waiting: Waiting<Item, Result>[] = [];
  #isRunning = false;

  /**
   * @param run returns a result for each item, in their order; when it throws, every item of the batch fails with
   * that error
   */
  constructor(
    private readonly maxItems: number,
    private readonly run: (items: readonly Item[]) => Promise<readonly Result[]>,
  ) {}

  async add(item: Item): Promise<Result> {
    return await new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isRunning) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.maxItems);
      try {
        const results = await this.run(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, index) => resolve(results[index] as Result));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isRunning = false;
  }
}
