/** `SSLMate/1.10.0 curl`: how existing clients name themselves. */
const ofClient = /^SSLMate\/(\d{1,6}(?:\.\d{1,6}){0,3})(?: |$)/;

/**
 * Existing clients offer whatever differs from their own version as an upgrade, so a client is told of no version older
 * than its own.
 *
 * @param known newest version that the operator names; null: none
 * @returns null when neither the operator nor the client names one
 */
export function newestClientVersion(known: string | null, userAgent: string): string | null {
  const own = ofClient.exec(userAgent)?.[1] ?? null;
  if (known === null || own === null) return known ?? own;
  return isNewer(own, known) ? own : known;
}

function isNewer(one: string, other: string): boolean {
  const [ones, others] = [partsOf(one), partsOf(other)];
  const at = ones.findIndex((part, index) => part !== others[index]);
  return at !== -1 && (ones[at] ?? 0) > (others[at] ?? 0);
}

/** Always four, so that 1.10 and 1.10.0 are the same. */
const partsOf = (version: string): readonly number[] =>
  [...version.split('.').map(Number), 0, 0, 0].slice(0, 4);
