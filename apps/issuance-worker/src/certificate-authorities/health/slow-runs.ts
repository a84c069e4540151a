/** Exchanges that take longer count as slow, ms. */
const slowAfterMs = 2_000;

interface RunInProgress {
  /** Start of the current exchange, by the monotonic clock; null: none. */
  readonly exchangeSinceMs: number | null;
}

/** Running attempts at each CA: a slow CA must not take all the capacity of this process. */
export class SlowRuns {
  private readonly runs = new Map<string, Set<RunInProgress>>();

  constructor(private readonly max: number) {}

  areTooMany(authority: string): boolean {
    const startedBefore = performance.now() - slowAfterMs;
    const isSlow = ({ exchangeSinceMs }: RunInProgress) =>
      exchangeSinceMs !== null && exchangeSinceMs < startedBefore;
    return [...(this.runs.get(authority) ?? [])].filter(isSlow).length >= this.max;
  }

  /** Whether any attempt is running at the CA. */
  isBusy(authority: string): boolean {
    return (this.runs.get(authority)?.size ?? 0) > 0;
  }

  /** Counts the attempt while `work` runs. */
  async beside<T>(authority: string, run: RunInProgress, work: () => Promise<T>): Promise<T> {
    const runs = this.runs.get(authority) ?? new Set<RunInProgress>();
    this.runs.set(authority, runs);
    runs.add(run);
    try {
      return await work();
    } finally {
      runs.delete(run);
    }
  }
}
