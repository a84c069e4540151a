/** Whether what is known of an issuance is its certificate, or only its precertificate. */
type Known = 'certificate' | 'precertificate';

/**
 * Issuances that this process has seen committed, the recent ones: most entries of most logs are known from another log, and need no
 * look at the database. Two generations, of which the older one goes as a whole: that costs nothing per entry.
 */
export class RecentIssuances {
  private young = new Map<string, Known>();
  private old = new Map<string, Known>();

  /** @param capacity issuances at most */
  constructor(private readonly capacity: number) {}

  /** Whether an entry of it would change nothing. */
  has(tbsSha256: string, isPrecertificate: boolean): boolean {
    const known = this.young.get(tbsSha256) ?? this.old.get(tbsSha256);
    return known === 'certificate' || (known !== undefined && isPrecertificate);
  }

  committed(tbsSha256: string, isPrecertificate: boolean): void {
    if (this.has(tbsSha256, isPrecertificate)) return;
    this.young.set(tbsSha256, isPrecertificate ? 'precertificate' : 'certificate');
    if (this.young.size * 2 <= this.capacity) return;
    this.old = this.young;
    this.young = new Map();
  }

  /** A database that failed may come back without its newest commits. */
  forget(): void {
    this.young.clear();
    this.old.clear();
  }
}
