/** An exchange that takes longer is waited for by one order, and not by all, ms. */
const slowAfterMs = 2_000;

interface Walking {
  /** When the exchange that is under way began, by the monotonic clock; null: none is. */
  readonly exchangeSinceMs: number | null;
}

/** Attempts under way at each CA: one that is slow to respond must not take every place of this process. */
export class SlowWalks {
  private readonly walks = new Map<string, Set<Walking>>();

  constructor(
    private readonly most: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  areTooMany(authority: string): boolean {
    const startedBefore = this.nowMs() - slowAfterMs;
    const isSlow = ({ exchangeSinceMs }: Walking) =>
      exchangeSinceMs !== null && exchangeSinceMs < startedBefore;
    return [...(this.walks.get(authority) ?? [])].filter(isSlow).length >= this.most;
  }

  /** Whether any attempt is under way there. */
  isBusy(authority: string): boolean {
    return (this.walks.get(authority)?.size ?? 0) > 0;
  }

  /** Counts the walk while `work` runs. */
  async beside<T>(authority: string, walk: Walking, work: () => Promise<T>): Promise<T> {
    const walks = this.walks.get(authority) ?? new Set<Walking>();
    this.walks.set(authority, walks);
    walks.add(walk);
    try {
      return await work();
    } finally {
      walks.delete(walk);
    }
  }
}
