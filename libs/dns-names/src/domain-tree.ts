import { parse } from 'tldts';

/** The names are already in normal form, so tldts need not extract, validate or recognize anything. */
const publicSuffixOptions = {
  allowIcannDomains: true,
  allowPrivateDomains: true,
  detectIp: false,
  extractHostname: false,
  validateHostname: false,
  mixedInputs: false,
} as const;

export interface PublicSuffixPlace {
  /** Whether the list names a suffix that this name is or is beneath; its default rule `*` does not count. */
  readonly listed: boolean;
  readonly publicSuffix: string | null;
  /** One label below the public suffix; null for a suffix itself. */
  readonly registeredDomain: string | null;
}

/**
 * The place of a name under the public suffix list, ICANN and private sections. Takes a name in normal form without
 * `*.`.
 */
export function publicSuffixPlace(name: string): PublicSuffixPlace {
  const { domain, isIcann, isPrivate, publicSuffix } = parse(name, publicSuffixOptions);
  const listed = isIcann === true || isPrivate === true;
  return { listed, publicSuffix, registeredDomain: listed ? domain : null };
}

/** Takes a name in normal form. */
export function isWildcard(name: string): boolean {
  return name.startsWith('*.');
}

/** `*.example.com` and `example.com` are both approved at `example.com`. Takes a name in normal form. */
export function baseName(name: string): string {
  return isWildcard(name) ? name.slice(2) : name;
}

/** Null for a name that is a public suffix or beneath none. Takes a name in normal form, wildcard or not. */
export function registeredDomain(name: string): string | null {
  return publicSuffixPlace(baseName(name)).registeredDomain;
}

/** The base name, its parent and so on, down to and with the registered domain; empty when there is none. */
export function ancestorsToRegisteredDomain(name: string): readonly string[] {
  const base = baseName(name);
  const last = registeredDomain(base);
  if (last === null) return [];
  const labels = base.split('.');
  const steps = labels.length - last.split('.').length + 1;
  return Array.from({ length: steps }, (_, step) => labels.slice(step).join('.'));
}
