/** Postings by the day by whose end they have expired. */
export class ExpiryCounts {
  private readonly counts = new Map<number, number>();
  private total = 0;

  add(day: number): void {
    this.counts.set(day, (this.counts.get(day) ?? 0) + 1);
    this.total += 1;
  }

  /** The first day by whose end half of them have expired. */
  halfExpiredDay(): number | null {
    let expired = 0;
    for (const [day, count] of [...this.counts].sort(([one], [other]) => one - other)) {
      expired += count;
      if (2 * expired >= this.total) return day;
    }
    return null;
  }
}
