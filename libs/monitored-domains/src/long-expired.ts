/** Milliseconds. Logs accept expired certificates, which nothing trusts any more; clocks differ less. */
const maxExpiredMs = 24 * 60 * 60 * 1_000;

/** Whether a certificate had been expired for a day when it was logged. Such a certificate concerns no account. */
export function wasLongExpired(notAfter: Date, loggedAt: Date): boolean {
  return loggedAt.getTime() - notAfter.getTime() >= maxExpiredMs;
}
