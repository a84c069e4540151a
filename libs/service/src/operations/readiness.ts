import { assertClock, clockOffsetMs, isServerTime } from './server-time';

/** Rejects when the dependency is unusable. May return the time of its clock (`ServerTime`), which is compared with ours. */
export type ReadinessCheck = () => Promise<unknown>;

export type CheckResult = 'ok' | 'failed' | 'timeout';

export interface ReadinessReport {
  readonly ready: boolean;
  readonly state: 'starting' | 'running' | 'stopping';
  readonly checks: Readonly<Record<string, CheckResult>>;
  /** Optional checks that failed while the process is ready. Omitted when there are none. */
  readonly degraded?: readonly string[];
}

export interface CheckOptions {
  /** False: the process stays ready without it and does part of its work. Default: true. */
  readonly isRequired?: boolean;
}

export interface ReadinessOptions {
  /** Timeout of a check. */
  readonly boundMs?: number;
  /**
   * How long a result is reused, so that frequent polling puts no load on dependencies. Until the process is ready for the
   * first time, a tenth of it: its connections open within some ten milliseconds.
   */
  readonly reuseMs?: number;
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
  /** While it is not ready yet, for this long after the start, it is still connecting: `onChange` is not called. */
  readonly connectingMs?: number;
  /** Called when the result of a check changes, after the start; a check counts as `ok` until it has run. */
  readonly onChange?: (name: string, result: CheckResult, error?: unknown) => void;
}

/** Whether this process should get requests now. Not whether it is alive: a process whose database is down is alive. */
export class Readiness {
  readonly #checks = new Map<string, { readonly check: ReadinessCheck; readonly isRequired: boolean }>();
  readonly #options: Required<ReadinessOptions>;
  #state: ReadinessReport['state'] = 'starting';
  #wasReady = false;
  #connectingUntilMs = Infinity;
  readonly #results = new Map<string, CheckResult>();
  readonly #clockOffsetsMs = new Map<string, number>();
  #last: { readonly report: Promise<ReadinessReport>; readonly untilMs: number } | undefined;

  constructor(options: ReadinessOptions = {}) {
    this.#options = {
      boundMs: 2_000,
      reuseMs: 1_000,
      nowMs: () => performance.now(),
      connectingMs: 0,
      onChange: () => undefined,
      ...options,
    };
  }

  /**
   * For services that every copy of the process uses. Their failure does not change whether this copy is ready: otherwise
   * it would remove all copies from a load balancer at once, and callers would get its error instead of ours.
   */
  readonly shared = {
    add: (name: string, check: ReadinessCheck): void => this.add(name, check, { isRequired: false }),
  };

  add(name: string, check: ReadinessCheck, { isRequired = true }: CheckOptions = {}): void {
    this.#checks.set(name, { check, isRequired });
    this.#last = undefined;
  }

  get hasStarted(): boolean {
    return this.#state === 'running';
  }

  /** SIGTERM came: the next request of a client should go to another copy. */
  get isStopping(): boolean {
    return this.#state === 'stopping';
  }

  /** By the setting that names the server, how far its clock is ahead of ours, ms: as it was read last. */
  get clockOffsetsMs(): ReadonlyMap<string, number> {
    return this.#clockOffsetsMs;
  }

  started(): void {
    if (this.#state === 'starting') this.#state = 'running';
    this.#connectingUntilMs = this.#options.nowMs() + this.#options.connectingMs;
    this.#last = undefined;
  }

  stopping(): void {
    this.#state = 'stopping';
    this.#last = undefined;
  }

  report(): Promise<ReadinessReport> {
    const now = this.#options.nowMs();
    if (this.#last === undefined || now >= this.#last.untilMs) {
      const reuseMs = this.#options.reuseMs / (this.#wasReady ? 1 : 10);
      this.#last = { report: this.#runChecks(), untilMs: now + reuseMs };
    }
    return this.#last.report;
  }

  async #runChecks(): Promise<ReadinessReport> {
    const state = this.#state;
    const results = await Promise.all(
      [...this.#checks].map(async ([name, { check }]) => [name, await this.#run(name, check)] as const),
    );
    // A server that is down now was compared before.
    if (this.#clockOffsetsMs.size > 0)
      results.push(['clock', await this.#run('clock', async () => assertClock(this.#clockOffsetsMs))]);
    const failed = results.flatMap(([name, result]) => (result === 'ok' ? [] : [name]));
    const isRequired = (name: string) => this.#checks.get(name)?.isRequired ?? true;
    const ready = state === 'running' && !failed.some(isRequired);
    this.#wasReady ||= ready;
    const checks = Object.fromEntries(results);
    return ready && failed.length > 0 ? { ready, state, degraded: failed, checks } : { ready, state, checks };
  }

  async #run(name: string, check: ReadinessCheck): Promise<CheckResult> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<'timeout'>((resolve) => {
      timer = setTimeout(resolve, this.#options.boundMs, 'timeout');
    });
    try {
      const result = await Promise.race([
        Promise.resolve()
          .then(() => this.#checkAndCompare(check))
          .then(() => 'ok' as const),
        tooLate,
      ]);
      return this.#changeTo(name, result);
    } catch (error) {
      return this.#changeTo(name, 'failed', error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #checkAndCompare(check: ReadinessCheck): Promise<void> {
    const askedMs = Date.now();
    const result = await check();
    if (!isServerTime(result)) return;
    const { serverTimeMs, setting } = result;
    this.#clockOffsetsMs.set(setting, clockOffsetMs(serverTimeMs, askedMs, Date.now()));
  }

  #changeTo(name: string, result: CheckResult, error?: unknown): CheckResult {
    if (!this.#wasReady && this.#options.nowMs() < this.#connectingUntilMs) return result;
    const before = this.#results.get(name) ?? 'ok';
    this.#results.set(name, result);
    if (result !== before) this.#options.onChange(name, result, error);
    return result;
  }
}
