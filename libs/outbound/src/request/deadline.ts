import { OutboundFault } from '../outbound-fault';

/** One time limit for a whole request: lookup, connection, TLS, and the complete response. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #endsAtMs: number;
  readonly #giveUp: () => void;

  /** @param outer the caller's signal; when it aborts, its reason is thrown */
  constructor(
    timeoutMs: number,
    private readonly outer?: AbortSignal,
  ) {
    this.#endsAtMs = performance.now() + timeoutMs;
    const late = new OutboundFault(
      'timeout',
      `There was no complete response within ${showSeconds(timeoutMs)}.`,
    );
    this.#timer = setTimeout(() => this.#controller.abort(late), timeoutMs);
    this.#giveUp = () => this.#controller.abort(outer?.reason);
    if (outer?.aborted === true) this.#giveUp();
    outer?.addEventListener('abort', this.#giveUp, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  leftMs(): number {
    return Math.max(0, this.#endsAtMs - performance.now());
  }

  /**
   * Resolves or rejects with what `begin` reports, or rejects with the deadline's reason; `undo` runs when the
   * deadline comes first.
   */
  async bound<T>(
    begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
  ): Promise<T> {
    const { signal } = this;
    signal.throwIfAborted();
    let abandon = (): void => undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        const undo = begin(resolve, reject);
        abandon = () => {
          reject(signal.reason);
          undo();
        };
        signal.addEventListener('abort', abandon, { once: true });
      });
    } finally {
      signal.removeEventListener('abort', abandon);
    }
  }

  /** Must be called; otherwise the process waits for the timer, and the outer signal retains the request. */
  end(): void {
    clearTimeout(this.#timer);
    this.outer?.removeEventListener('abort', this.#giveUp);
  }
}

const showSeconds = (ms: number): string =>
  ms >= 1_000 ? `${Math.round(ms / 100) / 10} s` : `${Math.round(ms)} ms`;
