import { sha256Hex } from './sha256';

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

/** What a node is in the index for; both, for a name that is no wildcard. */
const [asExact, asTree] = [1, 2];

/**
 * Keys under which an issuance with these names is stored, each once: of each name the exact key, and the
 * tree key of itself and of every ancestor of two labels or more. A wildcard is in the trees of the names
 * above it. No query asks for a single label.
 */
export function indexKeys(names: readonly string[]): string[] {
  const uses = new Map<string, number>();
  for (const name of names) if (name.includes('.')) addNodes(name, uses);
  const keys: string[] = [];
  for (const [name, use] of uses) {
    const digest = sha256Hex(name);
    if ((use & asExact) !== 0) keys.push(digest.slice(0, keyDigits));
    if ((use & asTree) !== 0) keys.push(digest.slice(keyDigits, 2 * keyDigits));
  }
  return keys;
}

function addNodes(name: string, uses: Map<string, number>): void {
  const before = uses.get(name) ?? 0;
  uses.set(name, before | asExact | (isWildcard(name) ? 0 : asTree));
  for (let dot = name.indexOf('.'), next; (next = name.indexOf('.', dot + 1)) >= 0; dot = next) {
    const ancestor = name.slice(dot + 1);
    // Whatever added it added what is above it.
    if (uses.has(ancestor)) return;
    uses.set(ancestor, asTree);
  }
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
