const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** A log that is away for a while is asked every five minutes, and one that says when to come again at most a day later. */
const longestRestMs = 5 * minuteMs;
const longestToldMs = 24 * hourMs;

/** @param failures in a row, this one counted @param toldMs Retry-After */
export function logRestMs(failures: number, toldMs: number | null): number {
  if (toldMs !== null) return Math.min(Math.max(toldMs, secondMs), longestToldMs);
  return Math.min(secondMs * 2 ** (failures - 1), longestRestMs);
}

/** A root that the log does not know yet is usual where both were just set up; what is refused for good costs four requests a day. */
const longestDelayMs = 6 * hourMs;

/** @param attempts so far, this one counted */
export function refusedDelayMs(attempts: number): number {
  return Math.min(5 * secondMs * 3 ** (attempts - 1), longestDelayMs);
}
