import type { ProviderFaultKind } from '../provider-fault';

/** An hour: a longer wait is shortened to this. */
const maxRetryAfterS = 3_600;

/**
 * RFC 9110, section 10.2.3: seconds or a date. Clamped to the range of a second to an hour.
 *
 * @returns seconds; undefined when absent or unreadable
 */
export function retryAfterS(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - now.getTime()) / 1000;
  return Number.isFinite(seconds) ? clamped(seconds) : undefined;
}

/** Unix time; smaller numbers have another meaning. */
const unixTime = /^\d{10,11}$/;

/**
 * The retry delay in the headers of a refusal. DNSimple and Linode document X-RateLimit-Reset, the Unix time at
 * which their window ends. They send it in every response, so it counts only when the rate limit was the reason.
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

const clamped = (seconds: number): number => Math.min(maxRetryAfterS, Math.max(1, Math.ceil(seconds)));
