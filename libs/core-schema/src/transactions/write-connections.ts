import { currentDatabaseTime } from './database-time';

/** Maximum writes waiting per connection: about half a second of work. More would only wait longer. */
const maxWaitingPerConnection = 20;

/** The open writes of one account. */
interface Writes {
  /** Requests, and connections that their work uses or waits for: it goes on when the client disconnects. */
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
  #isGranting = false;
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
    const endRequest = this.#open(account, writes);
    let endWaiting = this.#wait(writes);
    let queue = this.#beginning;
    let isQueued = false;
    currentDatabaseTime()?.takePlacesOf({
      take: (granted) => {
        // Those of now: the request may have ended.
        const own = this.#accounts.get(account) ?? { open: 0, waiting: 0, held: 0 };
        const close = this.#open(account, own);
        if (queue === this.#beginning) {
          endWaiting();
          endWaiting = this.#wait(own);
        }
        isQueued = true;
        queue.push({
          writes: own,
          granted: () => {
            isQueued = false;
            endWaiting();
            queue = this.#continuing;
            granted(once(() => this.#giveBack(own, close)));
          },
        });
        this.#grant();
      },
    });
    return once(() => {
      if (!isQueued) endWaiting();
      endRequest();
    });
  }

  /** @returns closes it */
  #open(account: string | null, writes: Writes): () => void {
    this.#accounts.set(account, writes);
    writes.open += 1;
    return () => {
      writes.open -= 1;
      if (writes.open === 0) this.#accounts.delete(account);
    };
  }

  /** @returns ends it */
  #wait(writes: Writes): () => void {
    writes.waiting += 1;
    this.#waiting += 1;
    return once(() => {
      writes.waiting -= 1;
      this.#waiting -= 1;
    });
  }

  #giveBack(writes: Writes, close: () => void): void {
    this.#free += 1;
    writes.held -= 1;
    close();
    this.#grant();
  }

  /** A late write gives its connection back at once: then the loop goes on, without a call in a call. */
  #grant(): void {
    if (this.#isGranting) return;
    this.#isGranting = true;
    while (this.#free > 0) {
      const next = this.#nextOf(this.#continuing) ?? this.#nextOf(this.#beginning);
      if (next === undefined) break;
      this.#free -= 1;
      next.writes.held += 1;
      next.granted();
    }
    this.#isGranting = false;
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
