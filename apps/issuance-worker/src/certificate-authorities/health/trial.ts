/** What one attempt finds out about a CA that is down: a single request goes there, and the rest follows once it passed. */
export class Trial {
  private outcome: 'open' | 'passed' | 'failed' = 'open';

  constructor(
    readonly authority: string,
    private readonly onPassed: () => Promise<void>,
  ) {}

  /** Whether the CA was asked, and did what it was asked, or did not. */
  get isOver(): boolean {
    return this.outcome !== 'open';
  }

  async passed(): Promise<void> {
    if (this.outcome === 'passed') return;
    this.outcome = 'passed';
    await this.onPassed();
  }

  failed(): void {
    if (this.outcome === 'open') this.outcome = 'failed';
  }
}

/** The trial, if the attempt is one of this CA. */
export function trialAt(trial: Trial | null, authority: string): Trial | null {
  return trial?.authority === authority ? trial : null;
}
