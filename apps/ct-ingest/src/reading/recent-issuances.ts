/** Whether the certificate of an issuance is known, or only its precertificate. */
type Known = 'certificate' | 'precertificate';

/**
 * Recent issuances that this process has committed: most entries of most logs are known from another log, and need no database
 * lookup. There are two generations; the older one is dropped as a whole, which costs nothing per entry.
 */
export class RecentIssuances {
  private young = new Map<string, Known>();
  private old = new Map<string, Known>();

  /** @param capacity max number of issuances */
  constructor(private readonly capacity: number) {}

  /** Whether storing this entry would change nothing. */
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

  /** After a failure, a database may have lost its newest commits. */
  forget(): void {
    this.young.clear();
    this.old.clear();
  }
}
