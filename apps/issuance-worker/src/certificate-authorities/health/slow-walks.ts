/** Exchanges that take longer count as slow, ms. */
const slowAfterMs = 2_000;

interface Walking {
  /** Start of the current exchange, by the monotonic clock; null: none. */
  readonly exchangeSinceMs: number | null;
}

/** Running attempts at each CA: a slow CA must not take all the capacity of this process. */
export class SlowWalks {
  private readonly walks = new Map<string, Set<Walking>>();

  constructor(
    private readonly max: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  areTooMany(authority: string): boolean {
    const startedBefore = this.nowMs() - slowAfterMs;
    const isSlow = ({ exchangeSinceMs }: Walking) =>
      exchangeSinceMs !== null && exchangeSinceMs < startedBefore;
    return [...(this.walks.get(authority) ?? [])].filter(isSlow).length >= this.max;
  }

  /** Whether any attempt is running at the CA. */
  isBusy(authority: string): boolean {
    return (this.walks.get(authority)?.size ?? 0) > 0;
  }

  /** Counts the attempt while `work` runs. */
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
