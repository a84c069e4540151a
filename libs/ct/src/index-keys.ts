import { sha256Hex } from './sha256';
import { TreeKeys } from './tree-keys';

/**
 * What an issuance is found by. A key is the hexadecimal form of eight bytes of the SHA-256 over a name in
 * normal form: the first eight for the exact name, the next eight for the name as the root of a tree. Eight
 * bytes, so that a key is a bigint of PostgreSQL: among 10^10 names about three pairs share a key by chance,
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
 * Labels of the root of a tree: names with more are in the trees of their ends, so that deep names cost no more than
 * others. Nearly all names have fewer; a query for a longer root looks into the tree of its end.
 */
const maxRootLabels = 8;

/**
 * Keys under which an issuance with these names is stored, each once: of each name the exact key, and the
 * tree key of itself and of every ancestor of two to eight labels. A wildcard is in the trees of the names
 * above it. No query asks for a single label, nor for a name with odd labels: only what is above these is found.
 */
export function indexKeys(names: readonly string[]): string[] {
  const keys: string[] = [];
  for (const name of names) addKeys(name, keys);
  // One name has no key twice; names of one certificate mostly have ancestors in common.
  return names.length === 1 ? keys : [...new Set(keys)];
}

const ancestors = new TreeKeys(treeKey);

function addKeys(name: string, keys: string[]): void {
  let dot = name.lastIndexOf('.');
  if (dot < 0) return;
  const digest = sha256Hex(name);
  keys.push(digest.slice(0, keyDigits));
  for (let labels = 2; labels <= maxRootLabels; labels += 1) {
    dot = name.lastIndexOf('.', dot - 1);
    if (dot > 0) keys.push(ancestors.of(name, dot + 1));
    const bare = afterAsterisk(name, dot + 1);
    if (bare > 0) keys.push(ancestors.of(name, bare));
    if (dot > 0) continue;
    if (!isWildcard(name)) keys.push(digest.slice(keyDigits, 2 * keyDigits));
    return;
  }
}

/** Where a label goes on that begins with an asterisk, as in `*example.com`; 0: it does not. */
function afterAsterisk(name: string, at: number): number {
  return name.charCodeAt(at) === asterisk && name.charCodeAt(at + 1) !== fullStop ? at + 1 : 0;
}

const [asterisk, fullStop] = [0x2a, 0x2e];

/** Every issuance that matches the query is stored under at least one of these. */
export function queryKeys({ domain, includeSubdomains, matchWildcards }: NameQuery): string[] {
  const keys = [includeSubdomains && !isWildcard(domain) ? treeKey(rootOf(domain)) : exactKey(domain)];
  const wildcard = wildcardFor(domain);
  if (matchWildcards && wildcard !== null) keys.push(exactKey(wildcard));
  return keys;
}

/** The domain, or the end of it that has as many labels as the root of a tree may have. */
function rootOf(domain: string): string {
  return domain.split('.').slice(-maxRootLabels).join('.');
}

/**
 * Whether one of the names is what the query asks for. Below a domain is whatever ends in it, odd labels or not; also
 * `*example.com`, which is written for `*.example.com` and matches the domain itself where it matches anything.
 */
export function matchesQuery(names: readonly string[], query: NameQuery): boolean {
  const { domain, includeSubdomains, matchWildcards } = query;
  const wildcard = matchWildcards ? wildcardFor(domain) : null;
  const below = includeSubdomains && !isWildcard(domain) ? isBelow(domain) : never;
  return names.some((name) => name === domain || name === wildcard || below(name));
}

const never = () => false;

function isBelow(domain: string): (name: string) => boolean {
  return (name) => {
    if (!name.endsWith(domain)) return false;
    const before = name.length - domain.length - 1;
    const character = name.charCodeAt(before);
    if (character === fullStop) return true;
    return character === asterisk && (before === 0 || name.charCodeAt(before - 1) === fullStop);
  };
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
