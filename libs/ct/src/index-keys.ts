import { sha256Hex } from './sha256';
import { TreeKeys } from './tree-keys';

/**
 * What an issuance is found by. A key is the hexadecimal form of eight octets of the SHA-256 over a name in
 * normal form: the first eight for the exact name, the next eight for the name as the root of a tree. Eight
 * octets, so that a key is a bigint of PostgreSQL: among 10^10 names about three pairs share a key by chance,
 * and to aim at somebody's takes 2^64 certificates' names. Rows that are found are checked again
 * (`matchesQuery`), so that a shared key costs a look and shows nothing.
 */
const keyDigits = 16;

export interface NameQuery {
  /** A name in normal form, wildcard or not. */
  readonly domain: string;
  readonly includeSubdomains: boolean;
  readonly matchWildcards: boolean;
}

/**
 * Keys under which an issuance with these names is stored, each once: of each name the exact key, and the
 * tree key of itself and of every ancestor of two labels or more. A wildcard is in the trees of the names
 * above it. No query asks for a single label.
 */
export function indexKeys(names: readonly string[]): string[] {
  const keys: string[] = [];
  for (const name of names) addKeys(name, keys);
  // One name has no key twice; names of one certificate mostly have ancestors in common.
  return names.length === 1 ? keys : [...new Set(keys)];
}

const ancestors = new TreeKeys(treeKey);

function addKeys(name: string, keys: string[]): void {
  let dot = name.indexOf('.');
  if (dot < 0) return;
  const digest = sha256Hex(name);
  keys.push(digest.slice(0, keyDigits));
  if (!isWildcard(name)) keys.push(digest.slice(keyDigits, 2 * keyDigits));
  for (let next; (next = name.indexOf('.', dot + 1)) >= 0; dot = next) keys.push(ancestors.of(name, dot + 1));
}

/** Every issuance that matches the query is stored under at least one of these. */
export function queryKeys({ domain, includeSubdomains, matchWildcards }: NameQuery): string[] {
  const keys = [includeSubdomains && !isWildcard(domain) ? treeKey(domain) : exactKey(domain)];
  const wildcard = wildcardFor(domain);
  if (matchWildcards && wildcard !== null) keys.push(exactKey(wildcard));
  return keys;
}

/** Whether one of the names is what the query asks for. */
export function matchesQuery(names: readonly string[], query: NameQuery): boolean {
  const { domain, includeSubdomains, matchWildcards } = query;
  const wildcard = matchWildcards ? wildcardFor(domain) : null;
  const below = includeSubdomains && !isWildcard(domain) ? `.${domain}` : null;
  return names.some(
    (name) => name === domain || name === wildcard || (below !== null && name.endsWith(below)),
  );
}

/**
 * The wildcard that covers a name: the asterisk stands for one whole label, the leftmost (RFC 6125, section
 * 6.4.3).
 */
function wildcardFor(domain: string): string | null {
  const dot = domain.indexOf('.');
  return dot < 0 || isWildcard(domain) ? null : `*${domain.slice(dot)}`;
}

function isWildcard(name: string): boolean {
  return name.startsWith('*.');
}

function exactKey(name: string): string {
  return sha256Hex(name).slice(0, keyDigits);
}

function treeKey(name: string): string {
  return sha256Hex(name).slice(keyDigits, 2 * keyDigits);
}
