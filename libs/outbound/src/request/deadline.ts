import { OutboundFault } from '../outbound-fault';

/** One bound for everything a request does: look-up, connection, TLS, and the last byte of the answer. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #endsAtMs: number;
  readonly #giveUp: () => void;

  /** @param outer the caller's own wish to stop; its reason is what is thrown then */
  constructor(
    timeoutMs: number,
    private readonly outer?: AbortSignal,
  ) {
    this.#endsAtMs = performance.now() + timeoutMs;
    const late = new OutboundFault(
      'timeout',
      `There was no complete answer within ${showSeconds(timeoutMs)}.`,
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

  /** What `begin` promises by its callbacks, or the deadline's reason; `undo` runs when the deadline comes first. */
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

  /** Must be called, or the process waits for the timer and the outer signal keeps the request alive. */
  end(): void {
    clearTimeout(this.#timer);
    this.outer?.removeEventListener('abort', this.#giveUp);
  }
}

const showSeconds = (ms: number): string =>
  ms >= 1_000 ? `${Math.round(ms / 100) / 10} s` : `${Math.round(ms)} ms`;
