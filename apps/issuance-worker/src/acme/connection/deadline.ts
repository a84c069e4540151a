/** Time limit of an operation with all its exchanges. Its creator ends it. */
export class Deadline {
  readonly #timer: NodeJS.Timeout;
  readonly #waiting = new Set<() => void>();
  #isOver = false;

  constructor(readonly withinMs: number) {
    this.#timer = setTimeout(() => this.#expire(), withinMs);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Calls back when the time is up, immediately if it already is. Returns a function that cancels the callback. */
  onExpiry(callback: () => void): () => void {
    if (this.#isOver) callback();
    else this.#waiting.add(callback);
    return () => this.#waiting.delete(callback);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#waiting.clear();
  }

  #expire(): void {
    this.#isOver = true;
    for (const callback of this.#waiting) callback();
    this.#waiting.clear();
  }
}
