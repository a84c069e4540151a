/** The clock of a server that a readiness check has just read, for comparison with our own. */
export interface ServerTime {
  /** Unix time, ms. */
  readonly serverTimeMs: number;
  /** The setting that names the server. */
  readonly setting: string;
}

/**
 * Max difference between our clock and that of a server, ms. Leases are of the database's clock; validity periods, signed
 * requests to DNS providers and revocation lists are of ours. CAs and providers tolerate minutes.
 */
const maxClockOffsetMs = 60_000;

export function isServerTime(result: unknown): result is ServerTime {
  const { serverTimeMs, setting } = (result ?? {}) as Partial<ServerTime>;
  return typeof serverTimeMs === 'number' && typeof setting === 'string';
}

/**
 * How far the server's clock is ahead of ours, ms; negative: behind. 0 when the server read its clock between the question
 * and the response, as far as we can know.
 *
 * @param askedMs our clock before the question; receivedMs: after the response
 */
export function clockOffsetMs(serverTimeMs: number, askedMs: number, receivedMs: number): number {
  if (serverTimeMs < askedMs) return serverTimeMs - askedMs;
  return Math.max(0, serverTimeMs - receivedMs);
}

/** @throws Error that names the settings of the servers whose clocks differ from ours */
export function assertClock(offsetsMs: ReadonlyMap<string, number>): void {
  const far = [...offsetsMs].filter(([, offsetMs]) => Math.abs(offsetMs) > maxClockOffsetMs);
  if (far.length === 0) return;
  const differences = far.map(
    ([setting, ms]) => `${Math.round(Math.abs(ms) / 1_000)} s ${ms > 0 ? 'behind' : 'ahead of'} ${setting}`,
  );
  throw new Error(
    `the clock of this machine is ${differences.join(' and ')}; synchronize both machines, for example with NTP`,
  );
}
