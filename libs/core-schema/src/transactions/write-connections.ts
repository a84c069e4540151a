import { currentDatabaseTime } from './database-time';

/** Maximum writes waiting per connection: about half a second of work. More would only wait longer. */
const maxWaitingPerConnection = 20;

/**
 * The share of the pool that writes may use at the same time, so that reads always find a connection. Waiting writes
 * are bounded too: further ones are refused before they cost anything.
 */
export class WriteConnections {
  #free: number;
  /**
   * Writes that wait for their first connection, and those that have had one: the latter go first, so that they end
   * soon.
   */
  readonly #beginning: (() => void)[] = [];
  readonly #continuing: (() => void)[] = [];
  /** Writes that have not had a connection yet. */
  #waiting = 0;

  constructor(private readonly connections: number) {
    this.#free = connections;
  }

  /**
   * Makes the current request a write (see `withinDatabaseTime`).
   *
   * @returns to be called when the request has ended; null when too many writes are waiting: refuse the request
   */
  begin(): (() => void) | null {
    if (this.#waiting >= this.connections * maxWaitingPerConnection) return null;
    this.#waiting += 1;
    const endWaiting = once(() => (this.#waiting -= 1));
    let queue = this.#beginning;
    currentDatabaseTime()?.takePlacesOf({
      take: (granted) =>
        this.#take(queue, () => {
          endWaiting();
          queue = this.#continuing;
          granted(once(() => this.#giveBack()));
        }),
    });
    return endWaiting;
  }

  #take(queue: (() => void)[], granted: () => void): void {
    if (this.#free === 0) return void queue.push(granted);
    this.#free -= 1;
    granted();
  }

  #giveBack(): void {
    const next = this.#continuing.shift() ?? this.#beginning.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
