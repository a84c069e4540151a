import { currentDatabaseTime } from './database-time';

/** Maximum writes waiting per connection: about half a second of work. More would only wait longer. */
const maxWaitingPerConnection = 20;

/** The open writes of one account. */
interface Writes {
  open: number;
  /** Those that have not had a connection yet. */
  waiting: number;
  /** Connections in use. */
  held: number;
}

/** A write that waits for a connection. */
interface Request {
  readonly writes: Writes;
  readonly granted: () => void;
}

/**
 * The share of the pool that writes may use at the same time, so that reads always find a connection. Waiting writes
 * are bounded too: further ones are refused before they cost anything. One connection, with its waiting writes, is for
 * other accounts: the writes of one account may wait for each other's locks for seconds.
 */
export class WriteConnections {
  #free: number;
  /**
   * Writes that wait for their first connection, and those that have had one: the latter go first, so that they end
   * soon.
   */
  readonly #beginning: Request[] = [];
  readonly #continuing: Request[] = [];
  /** Writes that have not had a connection yet. */
  #waiting = 0;
  readonly #accounts = new Map<string | null, Writes>();
  /** Connections of one account. */
  readonly #maxOfAccount: number;

  constructor(private readonly connections: number) {
    this.#free = connections;
    this.#maxOfAccount = Math.max(1, connections - 1);
  }

  /**
   * Makes the current request a write (see `withinDatabaseTime`).
   *
   * @param account null: not known yet
   * @returns to be called when the request has ended; null when too many writes are waiting: refuse the request
   */
  begin(account: string | null): (() => void) | null {
    const writes = this.#accounts.get(account) ?? { open: 0, waiting: 0, held: 0 };
    if (this.#waiting >= this.connections * maxWaitingPerConnection) return null;
    if (writes.waiting >= this.#maxOfAccount * maxWaitingPerConnection) return null;
    this.#accounts.set(account, writes);
    writes.open += 1;
    writes.waiting += 1;
    this.#waiting += 1;
    const endWaiting = once(() => {
      writes.waiting -= 1;
      this.#waiting -= 1;
    });
    let queue = this.#beginning;
    currentDatabaseTime()?.takePlacesOf({
      take: (granted) => {
        queue.push({
          writes,
          granted: () => {
            endWaiting();
            queue = this.#continuing;
            granted(once(() => this.#giveBack(writes)));
          },
        });
        this.#grant();
      },
    });
    return once(() => {
      endWaiting();
      writes.open -= 1;
      if (writes.open === 0) this.#accounts.delete(account);
    });
  }

  #giveBack(writes: Writes): void {
    this.#free += 1;
    writes.held -= 1;
    this.#grant();
  }

  #grant(): void {
    while (this.#free > 0) {
      const next = this.#nextOf(this.#continuing) ?? this.#nextOf(this.#beginning);
      if (next === undefined) return;
      this.#free -= 1;
      next.writes.held += 1;
      next.granted();
    }
  }

  /** The first whose account may have another connection. */
  #nextOf(queue: Request[]): Request | undefined {
    const at = queue.findIndex(({ writes }) => writes.held < this.#maxOfAccount);
    return at < 0 ? undefined : queue.splice(at, 1)[0];
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
