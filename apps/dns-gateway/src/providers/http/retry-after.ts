import type { ProviderFaultKind } from '../provider-fault';

/** An hour: whoever asks for longer is asked again all the same. */
const longestRetryAfterS = 3_600;

/**
 * RFC 9110, section 10.2.3: seconds or a date. Clamped to a second and an hour.
 *
 * @returns seconds; undefined when there is none that can be read
 */
export function retryAfterS(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - now.getTime()) / 1000;
  return Number.isFinite(seconds) ? clamped(seconds) : undefined;
}

/** Unix time; shorter numbers are something else. */
const unixTime = /^\d{10,11}$/;

/**
 * When to come again, as the headers of a refusal say. DNSimple and Linode document X-RateLimit-Reset, the Unix time at
 * which their window ends; it stands in every answer of theirs, and counts only where the limit was the reason.
 *
 * @returns seconds
 */
export function waitS(
  kind: ProviderFaultKind,
  headers: Readonly<Record<string, string>>,
  now: Date,
): number | undefined {
  if (kind !== 'rate_limited' && kind !== 'unavailable') return undefined;
  const reset = headers['x-ratelimit-reset'] ?? '';
  const seconds = retryAfterS(headers['retry-after'], now);
  if (seconds !== undefined || kind === 'unavailable' || !unixTime.test(reset)) return seconds;
  return clamped(Number(reset) - now.getTime() / 1000);
}

const clamped = (seconds: number): number => Math.min(longestRetryAfterS, Math.max(1, Math.ceil(seconds)));
