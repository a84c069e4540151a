const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** An unavailable log is tried every five minutes, and one that sends Retry-After at most a day later. */
const maxRestMs = 5 * minuteMs;
const maxRetryAfterMs = 24 * hourMs;

/** @param failures in a row, including this one @param retryAfterMs Retry-After */
export function logRestMs(failures: number, retryAfterMs: number | null): number {
  if (retryAfterMs !== null) return Math.min(Math.max(retryAfterMs, secondMs), maxRetryAfterMs);
  return Math.min(secondMs * 2 ** (failures - 1), maxRestMs);
}

/** A root unknown to the log is usual right after setup of both; a permanent refusal costs four requests a day. */
const maxDelayMs = 6 * hourMs;

/** @param attempts so far, including this one */
export function refusedDelayMs(attempts: number): number {
  return Math.min(5 * secondMs * 3 ** (attempts - 1), maxDelayMs);
}
