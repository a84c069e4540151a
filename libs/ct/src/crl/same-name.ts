import { type NameAttribute, readDistinguishedName } from '../distinguished-name';

/** Octets of a name that is taken apart; those of CAs have a hundred, and this is asked before a signature is looked at. */
const longestName = 8 * 1_024;

/**
 * Whether two DER Names are of the same one: attribute by attribute, texts without regard to the type of string, to case and to
 * spaces (RFC 5280, section 7.1). A CA writes its name in its lists at times with another type of string than in certificates.
 */
export function sameName(one: Buffer, other: Buffer): boolean {
  if (one.equals(other)) return true;
  if (one.length > longestName || other.length > longestName) return false;
  const [levels, others] = [readDistinguishedName(one), readDistinguishedName(other)];
  if (levels === null || others === null || levels.length !== others.length) return false;
  return levels.every((attributes, level) => {
    const [mine, theirs] = [attributes.map(comparable).sort(), (others[level] ?? []).map(comparable).sort()];
    return mine.length === theirs.length && mine.every((each, at) => each === theirs[at]);
  });
}

function comparable({ type, text, der }: NameAttribute): string {
  const value = text === null ? der.toString('hex') : text.trim().replace(/\s+/g, ' ').toLowerCase();
  return JSON.stringify([type, text === null, value]);
}
