import { sha256Hex } from '@certwright/pki';
import { runsOf } from './reading/odd-texts';
import { TreeKeys } from './tree-keys';

/**
 * Search keys of an issuance. A key is the hexadecimal form of eight bytes of the SHA-256 over a name in
 * normal form: the first eight for the exact name, the next eight for the name as the root of a tree. Eight
 * bytes fit a bigint of PostgreSQL: among 10^10 names about three pairs share a key by chance,
 * and a deliberate collision takes 2^64 certificates' names. Names of found rows are checked again
 * (`matchesQuery`), so that a shared key costs a lookup but causes no false result.
 */
const keyDigits = 16;

export interface NameQuery {
  /** A name in normal form, wildcard or not. */
  readonly domain: string;
  readonly includeSubdomains: boolean;
  readonly matchWildcards: boolean;
}

/**
 * Max labels of the root of a tree: longer names are in the trees of their suffixes, so that deep names cost no more than
 * others. Nearly all names have fewer; a query for a longer root uses the tree of its suffix.
 */
const maxRootLabels = 8;

/**
 * Keys under which an issuance with these names is stored, without duplicates: for each name the exact key, and the
 * tree keys of itself and of every ancestor of two to eight labels. A wildcard is in the trees of the names
 * above it. Queries have at least two labels and no odd ones: an odd label is only found by the names above it.
 */
export function indexKeys(names: readonly string[]): string[] {
  const keys: string[] = [];
  for (const name of names) addKeys(name, keys);
  // One name has no duplicate keys; names of one certificate usually share ancestors.
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

/** Offset of the rest of a label that begins with an asterisk, as in `*example.com`; 0: no such label. */
function afterAsterisk(name: string, at: number): number {
  return name.charCodeAt(at) === asterisk && name.charCodeAt(at + 1) !== fullStop ? at + 1 : 0;
}

const [asterisk, fullStop] = [0x2a, 0x2e];

/** Names as nearly all are: labels, and an asterisk as the first of them. */
const usualName = /^(?:\*\.)?(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$/;

/** Begins what is hashed for an odd name: no name of a search does, so that searches do not find these keys. */
const oddPrefix = 'odd ';

/** The key of odd names with an asterisk in their last two labels. */
const anyOdd = oddKey('*');

/**
 * Keys under which monitors find an issuance by its odd names, and by names with unusual asterisks: one for the last two
 * labels of each run. None for nearly all certificates.
 */
export function oddKeys(names: readonly string[], oddNames: readonly string[]): string[] {
  const unusual = names.filter((name) => !usualName.test(name));
  if (unusual.length === 0 && oddNames.length === 0) return [];
  return [...new Set([...unusual, ...oddNames].flatMap((text) => runsOf(text).map(endKey)))];
}

function endKey(run: string): string {
  const end = lastTwoLabels(run);
  return end.includes('*') ? anyOdd : oddKey(end);
}

/** Every issuance with an odd name that may concern the domain is stored under at least one of these. */
export function oddQueryKeys(domain: string): string[] {
  return [oddKey(lastTwoLabels(domain)), anyOdd];
}

function lastTwoLabels(name: string): string {
  return name.slice(name.lastIndexOf('.', name.lastIndexOf('.') - 1) + 1);
}

function oddKey(end: string): string {
  return sha256Hex(oddPrefix + end).slice(0, keyDigits);
}

/** Every issuance that matches the query is stored under at least one of these. */
export function queryKeys({ domain, includeSubdomains, matchWildcards }: NameQuery): string[] {
  const keys = [includeSubdomains && !isWildcard(domain) ? treeKey(rootOf(domain)) : exactKey(domain)];
  const wildcard = wildcardFor(domain);
  if (matchWildcards && wildcard !== null) keys.push(exactKey(wildcard));
  return keys;
}

/** The domain, or its suffix with the max number of labels of a tree's root. */
function rootOf(domain: string): string {
  return domain.split('.').slice(-maxRootLabels).join('.');
}

/**
 * Whether one of the names matches the query. Every name with the suffix is below a domain, even with odd labels; also
 * `*example.com`, which is meant as `*.example.com` and, if it matches anything, matches the domain itself.
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
 * The wildcard that covers a name: the asterisk matches one whole label, the leftmost (RFC 6125, section
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
