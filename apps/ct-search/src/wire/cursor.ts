/** An id is a position in the order of discovery: decimal, and fits 63 bits. */
const largest = 2n ** 63n - 1n;

/** The index counts with 53 bits, which lasts for 100,000 years of today's certificates. */
const aheadOfAll = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * @returns null when the text is no id that could be given to an issuance; one that is ahead of every issuance, now and later,
 *   may come out as another one of that sort
 */
export function readId(text: string): string | null {
  if (!/^\d{1,19}$/.test(text)) return null;
  const position = BigInt(text);
  if (position > largest) return null;
  return String(position > aheadOfAll ? aheadOfAll : position);
}

/** Behind which every issuance is. */
export const beginning = '0';
