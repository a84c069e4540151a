/** Closes one resource; called once. */
export type Close = () => Promise<unknown> | unknown;

export interface CloseFailure {
  readonly name: string;
  readonly error: unknown;
}

/**
 * Resources in the order they were opened. They are closed the other way round, one after another, so that none is
 * closed while one opened later still uses it.
 */
export class ClosingOrder {
  readonly #opened: { readonly name: string; readonly close: Close }[] = [];
  #begun = false;
  #current: string | null = null;

  /** From then on, what is still starting may fail because something it needs is closed. */
  get begun(): boolean {
    return this.#begun;
  }

  /** The resource that is being closed; null: none. */
  get current(): string | null {
    return this.#current;
  }

  opened(name: string, close: Close): void {
    this.#opened.push({ name, close });
  }

  /** One that fails to close keeps none of the others open. */
  async closeAll(): Promise<readonly CloseFailure[]> {
    this.#begun = true;
    const failures: CloseFailure[] = [];
    for (let last = this.#opened.pop(); last !== undefined; last = this.#opened.pop()) {
      this.#current = last.name;
      try {
        await last.close();
      } catch (error) {
        failures.push({ name: last.name, error });
      }
    }
    this.#current = null;
    return failures;
  }
}
