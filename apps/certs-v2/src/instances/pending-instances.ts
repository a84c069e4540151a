/** Source of events that an issuance may have changed. Events may be lost, duplicated, or spurious. */
export interface InstanceNews {
  /** @returns stops it */
  on(issuanceId: string, listener: () => void): () => void;
  /** Called when events arrive again: earlier ones are lost. @returns stops it */
  onReconnected(listener: () => void): () => void;
}

/** Why a wait ended. */
export type WaitingEnd =
  /** It is pending no more. */
  | 'closed'
  | 'timeout'
  /** The client disconnected: no response is sent. */
  | 'disconnected'
  /** The process stops, or too many wait already. */
  | 'rejected';

export interface Waiting {
  readonly issuanceId: string;
  readonly accountId: string;
  readonly forMs: number;
  /** Registers a function to call when the client disconnects. */
  readonly onDisconnect: (disconnected: () => void) => void;
}

export interface PendingInstancesOptions {
  readonly news: InstanceNews;
  /** Which of these issuances are open no more. */
  readonly closedAmong: (issuanceIds: readonly string[]) => Promise<readonly string[]>;
  readonly onFailure: (error: unknown) => void;
  /** Maximum waiting clients of this process, about 3 KB each without their sockets. Default: 10,000. */
  readonly maxWaiting?: number;
  /** Maximum per account, so that no account uses all places. Default: a quarter of them. */
  readonly maxPerAccount?: number;
  /** How often all waiting instances are looked up in the database, in case events were lost, ms. Default: 5,000. */
  readonly lookupIntervalMs?: number;
}

interface Waiter extends Pick<Waiting, 'issuanceId' | 'accountId'> {
  /** By the clock of `performance.now()`. */
  readonly endsAtMs: number;
  readonly end: (end: WaitingEnd) => void;
}

/** One timer for all: precision of the end of a wait, ms. It ends earlier by at most this time, never later. */
const tickMs = 250;

/** Ids in one lookup: a statement of a few dozen kilobytes. */
const maxIdsPerLookup = 5_000;

/**
 * Clients that wait for pending instances. A waiting client costs a socket and an entry here, but no database
 * connection and no timer. An event causes a query, since only the database has the state; one statement covers all
 * events that arrived meanwhile.
 */
export class PendingInstances {
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #ofAccount = new Map<string, number>();
  readonly #endNews = new Map<string, () => void>();
  readonly #requestedLookups = new Set<string>();
  readonly #endReconnected: () => void;
  #count = 0;
  #isLookingUp = false;
  #lookedUpAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(private readonly options: PendingInstancesOptions) {
    this.#endReconnected = options.news.onReconnected(() => this.#requestAllLookups());
  }

  get count(): number {
    return this.#count;
  }

  /** Never rejects. Detects instances that closed before the call as well. */
  async wait({ issuanceId, accountId, forMs, onDisconnect }: Waiting): Promise<WaitingEnd> {
    if (this.#closed || this.#isFull(accountId)) return 'rejected';
    return await new Promise((resolve) => {
      const waiter: Waiter = {
        issuanceId,
        accountId,
        endsAtMs: performance.now() + forMs,
        end: (end) => {
          if (this.#remove(waiter)) resolve(end);
        },
      };
      this.#add(waiter);
      onDisconnect(() => waiter.end('disconnected'));
      // The caller saw it as pending before its events were subscribed to.
      this.#requestLookup([issuanceId]);
    });
  }

  /** Ends all waits; later ones return at once. */
  close(): void {
    this.#closed = true;
    this.#endReconnected();
    for (const waiter of this.#all()) waiter.end('rejected');
  }

  #isFull(accountId: string): boolean {
    const { maxWaiting = 10_000, maxPerAccount = maxWaiting / 4 } = this.options;
    return this.#count >= maxWaiting || (this.#ofAccount.get(accountId) ?? 0) >= maxPerAccount;
  }

  #all(): Waiter[] {
    return [...this.#waiters.values()].flatMap((waiters) => [...waiters]);
  }

  #add(waiter: Waiter): void {
    const { issuanceId, accountId } = waiter;
    const others = this.#waiters.get(issuanceId);
    if (others === undefined) {
      this.#waiters.set(issuanceId, new Set([waiter]));
      this.#endNews.set(
        issuanceId,
        this.options.news.on(issuanceId, () => this.#requestLookup([issuanceId])),
      );
    } else others.add(waiter);
    this.#ofAccount.set(accountId, (this.#ofAccount.get(accountId) ?? 0) + 1);
    this.#count += 1;
    if (this.#timer !== undefined) return;
    this.#lookedUpAtMs = performance.now();
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** @returns false when it has ended already */
  #remove(waiter: Waiter): boolean {
    const { issuanceId, accountId } = waiter;
    const waiters = this.#waiters.get(issuanceId);
    if (waiters?.delete(waiter) !== true) return false;
    if (waiters.size === 0) {
      this.#waiters.delete(issuanceId);
      this.#endNews.get(issuanceId)?.();
      this.#endNews.delete(issuanceId);
    }
    const left = (this.#ofAccount.get(accountId) ?? 1) - 1;
    if (left === 0) this.#ofAccount.delete(accountId);
    else this.#ofAccount.set(accountId, left);
    this.#count -= 1;
    if (this.#count === 0) this.#stopTimer();
    return true;
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    const nowMs = performance.now();
    for (const waiter of this.#all()) {
      if (waiter.endsAtMs <= nowMs + tickMs) waiter.end('timeout');
    }
    if (nowMs - this.#lookedUpAtMs < (this.options.lookupIntervalMs ?? 5_000)) return;
    this.#lookedUpAtMs = nowMs;
    this.#requestAllLookups();
  }

  #requestAllLookups(): void {
    this.#requestLookup(this.#waiters.keys());
  }

  #requestLookup(issuanceIds: Iterable<string>): void {
    for (const id of issuanceIds) this.#requestedLookups.add(id);
    if (!this.#isLookingUp && this.#requestedLookups.size > 0) void this.#lookUp();
  }

  /** One statement at a time: requests in the meantime share the next one. Never rejects. */
  async #lookUp(): Promise<void> {
    this.#isLookingUp = true;
    while (this.#requestedLookups.size > 0) {
      const ids = [...this.#requestedLookups].slice(0, maxIdsPerLookup);
      for (const id of ids) this.#requestedLookups.delete(id);
      try {
        for (const id of await this.options.closedAmong(ids)) this.#endClosed(id);
      } catch (error) {
        // The database is unavailable: the next round repeats the query for all that still wait.
        this.#requestedLookups.clear();
        this.options.onFailure(error);
      }
    }
    this.#isLookingUp = false;
  }

  #endClosed(issuanceId: string): void {
    for (const waiter of [...(this.#waiters.get(issuanceId) ?? [])]) waiter.end('closed');
  }
}
