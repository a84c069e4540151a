/** Names that one purchase pays for. */
export interface BillableNames {
  readonly names: number;
  readonly wildcards: number;
}

/**
 * How many names a set of DNS names is sold as: each wildcard is one wildcard name; every other name is one name, but one
 * that a wildcard of the set covers, or whose name follows its `*.`, costs nothing (`*.example.com` takes `example.com` and `www.example.com`
 * along), and a name and its `www.` twin are one.
 *
 * @param dnsNames in normal form; duplicates count once
 */
export function billableNames(dnsNames: readonly string[]): BillableNames {
  const all = new Set(dnsNames);
  const plain = [...all].filter((name) => !isWildcard(name));
  const takenAlong = (name: string) => all.has(`*.${name}`) || all.has(`*.${parentOf(name)}`);
  const paid = new Set(plain.filter((name) => !takenAlong(name)));
  const twins = new Set<string>();
  // Shortest first: in `a`, `www.a`, `www.www.a` the second is the twin of the first, and the third counts on its
  // own.
  for (const name of [...paid].sort((one, other) => one.length - other.length)) {
    const twin = `www.${name}`;
    if (!twins.has(name) && paid.has(twin)) twins.add(twin);
  }
  return { names: paid.size - twins.size, wildcards: all.size - plain.length };
}

const isWildcard = (name: string) => name.startsWith('*.');
const parentOf = (name: string) => name.slice(name.indexOf('.') + 1);
