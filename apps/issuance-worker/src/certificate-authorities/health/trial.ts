/** An attempt that tests a CA that is down: one request is sent, and the rest follow once it succeeds. */
export class Trial {
  private outcome: 'open' | 'passed' | 'failed' = 'open';

  constructor(
    readonly authority: string,
    private readonly onPassed: () => Promise<void>,
  ) {}

  /** Whether a request was sent, and whether it succeeded. */
  get isOver(): boolean {
    return this.outcome !== 'open';
  }

  get hasPassed(): boolean {
    return this.outcome === 'passed';
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

/** The attempt's trial, if it is of this CA. */
export function trialAt(trial: Trial | null, authority: string): Trial | null {
  return trial?.authority === authority ? trial : null;
}
