/** Where is heard that an issuance may have changed. News may be lost, come twice, or mean nothing. */
export interface InstanceNews {
  /** @returns what ends it */
  on(issuanceId: string, listener: () => void): () => void;
  /** Called when news can be heard again: what was told before is lost. @returns what ends it */
  onReconnected(listener: () => void): () => void;
}

/** Why somebody waits no longer. */
export type WaitingEnd =
  /** It is pending no more. */
  | 'closed'
  | 'time is up'
  /** The client went away: nobody is there to be answered. */
  | 'gone'
  /** The process stops, or too many wait already. */
  | 'turned away';

export interface Waiting {
  readonly issuanceId: string;
  readonly accountId: string;
  readonly forMs: number;
  /** Hands over what is to be called when the client goes away. */
  readonly whenGone: (gone: () => void) => void;
}

export interface PendingInstancesOptions {
  readonly news: InstanceNews;
  /** Which of these issuances are open no more. */
  readonly closedAmong: (issuanceIds: readonly string[]) => Promise<readonly string[]>;
  readonly onFailure: (error: unknown) => void;
  /** Waiting clients of this process, about 3 KB each without their sockets. Default: 10,000. */
  readonly most?: number;
  /** Of one account: nobody takes all places. Default: a quarter of them. */
  readonly mostOfAccount?: number;
  /** How often all that wait are looked for in the database, in case news was lost, ms. Default: 5,000. */
  readonly lookEveryMs?: number;
}

interface Waiter extends Pick<Waiting, 'issuanceId' | 'accountId'> {
  /** By the clock of `performance.now()`. */
  readonly endsAtMs: number;
  readonly end: (end: WaitingEnd) => void;
}

/** One timer for all: how exactly the end of a wait is kept, ms. It ends earlier by at most as much, never later. */
const tickMs = 250;

/** Ids in one look: a statement of a few dozen kilobytes. */
const mostInOneLook = 5_000;

/**
 * Who waits for which pending instance. A waiting client holds a socket and an entry here, and neither a connection to the
 * database nor a timer. News leads to a look into the database, which alone says what is so; one statement looks for all
 * whose news came meanwhile.
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

  /** Never rejects. What closed before the call is noticed as well. */
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
      // Whoever was told that it is pending, was so before news of it could be heard here.
      this.#lookFor([issuanceId]);
    });
  }

  /** Everybody is answered, and whoever comes now does not wait. */
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

  /** One statement at a time: what is asked for meanwhile goes together into the next. Never rejects. */
  async #look(): Promise<void> {
    this.#looking = true;
    while (this.#toLookFor.size > 0) {
      const ids = [...this.#toLookFor].slice(0, mostInOneLook);
      for (const id of ids) this.#toLookFor.delete(id);
      try {
        for (const id of await this.options.closedAmong(ids)) this.#tellClosed(id);
      } catch (error) {
        // The database is away: the next round asks again for all that still wait.
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
