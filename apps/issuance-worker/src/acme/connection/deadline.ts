/** The time that an operation has, all its exchanges together. Whoever makes it ends it. */
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

  /** Calls back when the time is up, at once if it is. Returns what takes that back. */
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
