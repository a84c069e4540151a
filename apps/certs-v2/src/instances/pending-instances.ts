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
  | 'time is up'
  /** The client disconnected: no response is sent. */
  | 'gone'
  /** The process stops, or too many wait already. */
  | 'turned away';

export interface Waiting {
  readonly issuanceId: string;
  readonly accountId: string;
  readonly forMs: number;
  /** Registers a function to call when the client disconnects. */
  readonly whenGone: (gone: () => void) => void;
}

export interface PendingInstancesOptions {
  readonly news: InstanceNews;
  /** Which of these issuances are open no more. */
  readonly closedAmong: (issuanceIds: readonly string[]) => Promise<readonly string[]>;
  readonly onFailure: (error: unknown) => void;
  /** Maximum waiting clients of this process, about 3 KB each without their sockets. Default: 10,000. */
  readonly most?: number;
  /** Maximum per account, so that no account uses all places. Default: a quarter of them. */
  readonly mostOfAccount?: number;
  /** How often all waiting instances are looked up in the database, in case events were lost, ms. Default: 5,000. */
  readonly lookEveryMs?: number;
}

interface Waiter extends Pick<Waiting, 'issuanceId' | 'accountId'> {
  /** By the clock of `performance.now()`. */
  readonly endsAtMs: number;
  readonly end: (end: WaitingEnd) => void;
}

/** One timer for all: precision of the end of a wait, ms. It ends earlier by at most this time, never later. */
const tickMs = 250;

/** Ids in one look: a statement of a few dozen kilobytes. */
const mostInOneLook = 5_000;

/**
 * Clients that wait for pending instances. A waiting client costs a socket and an entry here, but no database
 * connection and no timer. An event causes a query, since only the database has the state; one statement covers all
 * events that arrived meanwhile.
 */
export class PendingInstances {
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #ofAccount = new Map<string, number>();
  readonly #endNews = new Map<string, () => void>();
  readonly #toLookFor = new Set<string>();
  readonly #endReconnected: () => void;
  #count = 0;
  #looking = false;
  #lookedAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(private readonly options: PendingInstancesOptions) {
    this.#endReconnected = options.news.onReconnected(() => this.#lookForAll());
  }

  get count(): number {
    return this.#count;
  }

  /** Never rejects. Detects instances that closed before the call as well. */
  async wait({ issuanceId, accountId, forMs, whenGone }: Waiting): Promise<WaitingEnd> {
    if (this.#closed || this.#isFull(accountId)) return 'turned away';
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
      whenGone(() => waiter.end('gone'));
      // The caller saw it as pending before its events were subscribed to.
      this.#lookFor([issuanceId]);
    });
  }

  /** Ends all waits; later ones return at once. */
  close(): void {
    this.#closed = true;
    this.#endReconnected();
    for (const waiter of this.#all()) waiter.end('turned away');
  }

  #isFull(accountId: string): boolean {
    const { most = 10_000, mostOfAccount = most / 4 } = this.options;
    return this.#count >= most || (this.#ofAccount.get(accountId) ?? 0) >= mostOfAccount;
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
        this.options.news.on(issuanceId, () => this.#lookFor([issuanceId])),
      );
    } else others.add(waiter);
    this.#ofAccount.set(accountId, (this.#ofAccount.get(accountId) ?? 0) + 1);
    this.#count += 1;
    if (this.#timer !== undefined) return;
    this.#lookedAtMs = performance.now();
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
    if (this.#count === 0) this.#rest();
    return true;
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    const nowMs = performance.now();
    for (const waiter of this.#all()) {
      if (waiter.endsAtMs <= nowMs + tickMs) waiter.end('time is up');
    }
    if (nowMs - this.#lookedAtMs < (this.options.lookEveryMs ?? 5_000)) return;
    this.#lookedAtMs = nowMs;
    this.#lookForAll();
  }

  #lookForAll(): void {
    this.#lookFor(this.#waiters.keys());
  }

  #lookFor(issuanceIds: Iterable<string>): void {
    for (const id of issuanceIds) this.#toLookFor.add(id);
    if (!this.#looking && this.#toLookFor.size > 0) void this.#look();
  }

  /** One statement at a time: requests in the meantime share the next one. Never rejects. */
  async #look(): Promise<void> {
    this.#looking = true;
    while (this.#toLookFor.size > 0) {
      const ids = [...this.#toLookFor].slice(0, mostInOneLook);
      for (const id of ids) this.#toLookFor.delete(id);
      try {
        for (const id of await this.options.closedAmong(ids)) this.#tellClosed(id);
      } catch (error) {
        // The database is unavailable: the next round repeats the query for all that still wait.
        this.#toLookFor.clear();
        this.options.onFailure(error);
      }
    }
    this.#looking = false;
  }

  #tellClosed(issuanceId: string): void {
    for (const waiter of [...(this.#waiters.get(issuanceId) ?? [])]) waiter.end('closed');
  }
}
