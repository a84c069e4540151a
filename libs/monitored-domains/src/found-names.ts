import type { ConcernedAccount, ConcernedName } from './certificate-match';
import type { Hit } from './name-matcher';
import type { NameTree } from './name-tree';

interface FoundAccount {
  readonly names: ConcernedName[];
  isComplete: boolean;
}

/** Collects the names of one certificate that concern accounts. */
export class FoundNames {
  private readonly byAccount = new Map<number, FoundAccount>();

  /** @param maxNames per account */
  constructor(
    private readonly tree: NameTree,
    private readonly maxNames: number,
  ) {}

  /** Each name is added once, with all its hits. */
  add(dnsName: string, isOddName: boolean, hits: readonly Hit[]): void {
    let [node, domain] = [-1, ''];
    for (const hit of hits) {
      const found = this.foundOf(hit.account);
      if (found.names.length >= this.maxNames && found.names.at(-1)?.dnsName !== dnsName) {
        found.isComplete = false;
        continue;
      }
      if (hit.node !== node) [node, domain] = [hit.node, this.tree.nameOf(hit.node)];
      const monitoredDomain = hit.isTree ? `.${domain}` : domain;
      found.names.push({ dnsName, monitoredDomain, isWildcard: hit.isWildcard, isOddName });
    }
  }

  private foundOf(account: number): FoundAccount {
    let found = this.byAccount.get(account);
    if (found === undefined) {
      found = { names: [], isComplete: true };
      this.byAccount.set(account, found);
    }
    return found;
  }

  accounts(idOf: (account: number) => string): ConcernedAccount[] {
    return [...this.byAccount]
      .map(([number, { names, isComplete }]) => {
        sortWithinNames(names);
        return { account: idOf(number), names, isComplete };
      })
      .sort((one, other) => compare(one.account, other.account));
  }
}

/** The order in which the index visits monitored domains depends on when they were added. */
function sortWithinNames(names: ConcernedName[]): void {
  for (let start = 0; start < names.length;) {
    let end = start + 1;
    while (end < names.length && names[end]?.dnsName === names[start]?.dnsName) end += 1;
    if (end - start > 1) {
      const sorted = names
        .slice(start, end)
        .sort((one, other) => compare(one.monitoredDomain, other.monitoredDomain));
      sorted.forEach((name, at) => (names[start + at] = name));
    }
    start = end;
  }
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
