/** How fast faults of a CA are noticed, and how often one that is down is asked. */
export interface HealthPace {
  /** From the moment at which a CA is marked down to the first probe: most outages are short, ms. */
  readonly firstProbeMs: number;
  /** Between two probes of a CA that is down, ms. */
  readonly probeMs: number;
  /** The longest Retry-After of a CA that is honoured, ms. */
  readonly mostRetryAfterMs: number;
  /** After a probe, what waits for it is looked at anyway: the process that made it may have died, ms. */
  readonly graceMs: number;
  /** Down after so many faults in a row of one operation, over all attempts of a process, that have lasted so long, ms. */
  readonly failing: readonly { readonly faults: number; readonly lastingMs: number }[];
  /** A CA that gives us no account has to be looked at by an operator, ms. */
  readonly withoutAccountMs: number;
}

/**
 * One probe a minute, less what the attempt takes that follows it: the first certificate comes within a minute after the CA
 * is up. Random faults in half of the exchanges make twelve in a row once in four thousand times, and a CA restarts within
 * ten seconds. A CA that does not answer makes few faults, each of ten seconds.
 */
export const healthPace: HealthPace = {
  firstProbeMs: 30_000,
  probeMs: 55_000,
  mostRetryAfterMs: 5 * 60_000,
  graceMs: 5_000,
  failing: [
    { faults: 12, lastingMs: 10_000 },
    { faults: 4, lastingMs: 30_000 },
  ],
  withoutAccountMs: 10 * 60_000,
};
