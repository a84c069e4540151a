/** Zones change rarely, and users can refresh the list at any time. */
const everyMs = 6 * 60 * 60 * 1_000;
const firstRetryMs = 60_000;

/**
 * When the zones of an integration are listed again: after six hours, and after failures sooner at first.
 *
 * @param failures in a row
 */
export function nextZonesAt(now: Date, failures: number): Date {
  const waitMs = failures === 0 ? everyMs : Math.min(everyMs, firstRetryMs * 2 ** Math.min(failures - 1, 20));
  return new Date(now.getTime() + waitMs);
}
