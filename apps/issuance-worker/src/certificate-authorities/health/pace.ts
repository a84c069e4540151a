/** How fast CA errors are detected, and how often a CA that is down is probed. */
export interface HealthPace {
  /** Time from marking a CA down to the first probe, ms; most outages are short. */
  readonly firstProbeMs: number;
  /** Interval between probes of a CA that is down, ms. */
  readonly probeMs: number;
  /** Max Retry-After of a CA that is honored, ms. */
  readonly maxRetryAfterMs: number;
  /** Time after a probe at which waiting orders are due anyway, since its process may have died, ms. */
  readonly graceMs: number;
  /**
   * A CA is down after this many consecutive errors of one operation, over all attempts of a process, for this long,
   * ms.
   */
  readonly failing: readonly { readonly faults: number; readonly lastingMs: number }[];
  /** Probe interval for a CA that creates no account, which needs an operator, ms. */
  readonly withoutAccountMs: number;
}

/**
 * One probe a minute, minus the time of the attempt after it, so that the first certificate is issued within a minute
 * after the CA is up. With random errors in half of the exchanges, twelve in a row have a probability of 1 in 4,000,
 * and a CA restarts within ten seconds. A CA that does not respond causes few errors, each after ten seconds.
 */
export const healthPace: HealthPace = {
  firstProbeMs: 30_000,
  probeMs: 55_000,
  maxRetryAfterMs: 5 * 60_000,
  graceMs: 5_000,
  failing: [
    { faults: 12, lastingMs: 10_000 },
    { faults: 4, lastingMs: 30_000 },
  ],
  withoutAccountMs: 10 * 60_000,
};
