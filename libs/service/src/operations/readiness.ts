/** Rejects when what it checks cannot be used. */
export type ReadinessCheck = () => Promise<unknown>;

export interface ReadinessReport {
  readonly ready: boolean;
  readonly state: 'starting' | 'running' | 'stopping';
  readonly checks: Readonly<Record<string, 'ok' | 'failed' | 'timeout'>>;
  /** What has failed although the process is ready: it does part of its work without. Left out when there is none. */
  readonly degraded?: readonly string[];
}

export interface CheckOptions {
  /** False: a process does part of its work without it, and stays ready. Default: true. */
  readonly isRequired?: boolean;
}

export interface ReadinessOptions {
  /** A check that takes longer has failed. */
  readonly boundMs?: number;
  /** An answer is given again for this long, so that asking often puts no load on what is checked. */
  readonly reuseMs?: number;
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
  /** Told why a check failed; the report names only which. */
  readonly onFailure?: (name: string, error: unknown) => void;
}

/** Whether this process should get requests now. Not whether it lives: a process whose database is away is alive. */
export class Readiness {
  readonly #checks = new Map<string, { readonly check: ReadinessCheck; readonly isRequired: boolean }>();
  readonly #options: Required<ReadinessOptions>;
  #state: ReadinessReport['state'] = 'starting';
  #last: { readonly report: Promise<ReadinessReport>; readonly untilMs: number } | undefined;

  constructor(options: ReadinessOptions = {}) {
    this.#options = {
      boundMs: 2_000,
      reuseMs: 1_000,
      nowMs: () => performance.now(),
      onFailure: () => undefined,
      ...options,
    };
  }

  add(name: string, check: ReadinessCheck, { isRequired = true }: CheckOptions = {}): void {
    this.#checks.set(name, { check, isRequired });
    this.#last = undefined;
  }

  started(): void {
    if (this.#state === 'starting') this.#state = 'running';
    this.#last = undefined;
  }

  stopping(): void {
    this.#state = 'stopping';
    this.#last = undefined;
  }

  report(): Promise<ReadinessReport> {
    const now = this.#options.nowMs();
    if (this.#last === undefined || now >= this.#last.untilMs) {
      this.#last = { report: this.#runChecks(), untilMs: now + this.#options.reuseMs };
    }
    return this.#last.report;
  }

  async #runChecks(): Promise<ReadinessReport> {
    const state = this.#state;
    const results = await Promise.all(
      [...this.#checks].map(async ([name, { check }]) => [name, await this.#run(name, check)] as const),
    );
    const failed = results.flatMap(([name, result]) => (result === 'ok' ? [] : [name]));
    const isRequired = (name: string) => this.#checks.get(name)?.isRequired ?? true;
    const ready = state === 'running' && !failed.some(isRequired);
    const checks = Object.fromEntries(results);
    return ready && failed.length > 0 ? { ready, state, degraded: failed, checks } : { ready, state, checks };
  }

  async #run(name: string, check: ReadinessCheck): Promise<'ok' | 'failed' | 'timeout'> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<'timeout'>((resolve) => {
      timer = setTimeout(resolve, this.#options.boundMs, 'timeout');
    });
    try {
      return await Promise.race([
        Promise.resolve()
          .then(check)
          .then(() => 'ok' as const),
        tooLate,
      ]);
    } catch (error) {
      this.#options.onFailure(name, error);
      return 'failed';
    } finally {
      clearTimeout(timer);
    }
  }
}
