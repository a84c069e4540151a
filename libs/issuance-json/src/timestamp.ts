export const dayMs = 86_400_000;

/** Number of cached days: certificates begin and end on few. */
const maxDays = 4_096;

const days = new Map<number, string>();

const pairs = Array.from({ length: 60 }, (_, each) => String(each).padStart(2, '0'));

/**
 * The years of RFC 3339 have four digits (section 5.6). A time with a UTC offset, which X.680 allows, may lie a day beyond.
 */
const [firstMs, lastMs] = [Date.parse('0000-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59Z')];

/**
 * RFC 3339, UTC, without fractions; times beyond its years become its first or last second. Takes a tenth of the time of
 * `toISOString`: half of a page is timestamps and digests.
 */
export function timestamp(instant: Date): string {
  const ms = withinYears(instant.getTime());
  const day = Math.floor(ms / dayMs);
  const second = Math.floor((ms - day * dayMs) / 1_000);
  const time = `${pairs[Math.floor(second / 3_600)]}:${pairs[Math.floor(second / 60) % 60]}:${pairs[second % 60]}`;
  return `${dateOf(day)}T${time}Z`;
}

/** The nearest time that has such a year. */
export function withinYears(ms: number): number {
  return Math.min(lastMs, Math.max(firstMs, ms));
}

/** @param day since 1970-01-01 */
export function dateOf(day: number): string {
  let date = days.get(day);
  if (date === undefined) {
    date = new Date(day * dayMs).toISOString().slice(0, 10);
    if (days.size >= maxDays) days.clear();
    days.set(day, date);
  }
  return date;
}

export function timestampOrNull(instant: Date | null): string | null {
  return instant === null ? null : timestamp(instant);
}
