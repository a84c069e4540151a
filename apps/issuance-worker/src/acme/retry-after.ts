/** Max Retry-After that is honored, seconds; the caller polls again then. */
const maxRetryAfterS = 7 * 24 * 3_600;

const imfFixdate =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT$/;

/**
 * Retry-After (RFC 9110, section 10.2.3): delay in seconds, or a date. Never before now; null when absent or invalid.
 */
export function readRetryAfter(value: string | undefined, now: Date): Date | null {
  if (value === undefined) return null;
  const text = value.trim();
  if (/^\d{1,10}$/.test(text)) return after(now, Number(text));
  if (!imfFixdate.test(text)) return null;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : after(now, (time - now.getTime()) / 1_000);
}

function after(now: Date, seconds: number): Date {
  return new Date(now.getTime() + Math.min(Math.max(seconds, 0), maxRetryAfterS) * 1_000);
}
