import { isWildcard, parsePublicName, quoteInput, registeredDomain } from '@certwright/dns-names';

export type ParsedDomain =
  { readonly ok: true; readonly domain: string } | { readonly ok: false; readonly message: string };

/** RFC 1035, section 2.3.4: octets of a name as text. */
const longestName = 253;

/**
 * Labels that no certificate may have, and old ones have: with underscores, with hyphens at their ends or at the third and
 * fourth place.
 */
const asCertified = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+$/;

/**
 * The domain that is searched, in the form of the index: lower-case A-labels, no trailing dot. It is a registered domain or
 * beneath one. Any name that a certificate could ever have been found with is taken.
 */
export function parseSearchDomain(input: string): ParsedDomain {
  const parsed = parsePublicName(input);
  const wildcard = parsed.ok ? isWildcard(parsed.name) : input.startsWith('*.');
  if (wildcard) {
    const message = `${quoteInput(input)} is a wildcard: search the domain without it, with match_wildcards or include_subdomains.`;
    return { ok: false, message };
  }
  if (parsed.ok) return { ok: true, domain: parsed.name };
  const domain = oddName(input);
  if (domain !== null) return { ok: true, domain };
  return { ok: false, message: parsed.message.replace(' cannot be certified:', ' cannot be searched:') };
}

function oddName(input: string): string | null {
  const name = input.toLowerCase().replace(/\.$/, '');
  if (name.length > longestName || !/^[\x21-\x7e]*$/.test(input) || !asCertified.test(name)) return null;
  return registeredDomain(name) === null ? null : name;
}
