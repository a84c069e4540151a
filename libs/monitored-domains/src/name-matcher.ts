import { registeredDomain } from '@certwright/dns-names';
import { type AccountDomains, exact, none, tree } from './account-domains';
import { forEachRun, type NameShape } from './name-text';
import { type NameTree, root, startOfLabel } from './name-tree';

/** A monitored domain that decides about a text, and is enabled. */
export interface Hit {
  readonly account: number;
  readonly node: number;
  /** The monitored domain has a leading dot. */
  readonly isTree: boolean;
  /** It is below the rightmost asterisk: the text concerns it only for some labels in place of the asterisk. */
  isWildcard: boolean;
}

/** RFC 1035, section 2.3.4: 253 characters are max 127 labels. */
const maxDepth = 127;

const [fullStop, asterisk] = [0x2e, 0x2a];

/** In place of a label with an asterisk, to look up the public suffix. No rule of the list has such a label. */
const anyLabel = 'any-label';

/**
 * Finds the monitored domains that a text in a certificate concerns. The text represents a set of names: itself; those with
 * labels in place of its asterisks; for an odd text those at or below each of its runs. A monitored domain is concerned if it
 * is enabled, and the most specific one of its account for at least one name of the set.
 */
export class NameMatcher {
  /** Nodes with entries on the path to the current node, from the last label in place of an asterisk on. */
  private readonly path = new Int32Array(maxDepth);
  private pathLength = 0;
  /** By account: the last decision in which it had a monitored domain. */
  private lastDecisions = new Float64Array(64);
  private decisions = 0;

  private text = '';
  /** The current run. */
  private start = 0;
  private end = 0;
  private hasAsterisk = false;
  private isOdd = false;
  private hits: Hit[] = [];
  /** Hits by entry and kind, for texts that can lead to the same monitored domain twice. */
  private readonly hitsByDomain = new Map<number, Hit>();
  private isRepeating = false;

  /** Odd runs that led to a monitored domain: a text may repeat them. */
  private readonly runs = new Set<string>();
  private isCounted: boolean | undefined;

  /** Nodes and entries visited for unusual texts of the certificate. */
  private visits = 0;
  private mayExpand = true;
  private isCutShort = false;

  /**
   * @param maxVisits per certificate, checked before each unusual text. One text visits each node and entry a few times at
   *   most, so that both limit the cost.
   */
  constructor(
    private readonly names: NameTree,
    private readonly domains: AccountDomains,
    private readonly maxVisits: number,
  ) {}

  /** Starts with the next certificate. @param accounts all numbers of accounts are less */
  begin(accounts: number): void {
    if (this.lastDecisions.length < accounts)
      this.lastDecisions = new Float64Array(Math.ceil(accounts * 1.25));
    this.visits = 0;
    this.isCutShort = false;
    this.runs.clear();
  }

  /** Whether monitored domains may be missing because a text since `begin` was too expensive. */
  get isIncomplete(): boolean {
    return this.isCutShort;
  }

  /** @param text in lower case @returns in no particular order */
  hitsOf(text: string, shape: NameShape): readonly Hit[] {
    if (this.runs.size > 0) this.runs.clear();
    this.prepare(text, shape);
    if (shape.isOdd) forEachRun(text, (start, end) => this.matchRun(start, end));
    else this.matchRun(0, text.length);
    return this.hits;
  }

  /** The same for one run of an odd text; without hits if it had some before, since `begin`. */
  hitsOfRun(text: string, start: number, end: number): readonly Hit[] {
    this.prepare(text, { isOdd: true, hasAsterisk: true });
    this.matchRun(start, end);
    return this.hits;
  }

  private prepare(text: string, { isOdd, hasAsterisk }: Pick<NameShape, 'isOdd' | 'hasAsterisk'>): void {
    this.text = text;
    this.isOdd = isOdd;
    this.hasAsterisk = hasAsterisk;
    // `*.example.com` leads to no monitored domain twice, and all names of this form together to none twice.
    this.isRepeating =
      isOdd || (hasAsterisk && (text.lastIndexOf('*') > 0 || text.charCodeAt(1) !== fullStop));
    if (this.hits.length > 0) this.hits = [];
    if (this.hitsByDomain.size > 0) this.hitsByDomain.clear();
  }

  private matchRun(start: number, end: number): void {
    this.start = start;
    this.end = end;
    this.isCounted = undefined;
    this.mayExpand = !this.isRepeating || this.visits < this.maxVisits;
    const { visits } = this;
    this.follow(root, end, false);
    if (!this.isRepeating) this.visits = visits;
  }

  /**
   * Follows the labels of the run from right to left.
   *
   * @param from node of the labels from `labelsEnd` on
   * @param isWildcard the last label to `from` was in place of an asterisk. Monitored domains above it are already decided:
   *   they decide about the names with a label that no monitored domain has.
   */
  private follow(from: number, labelsEnd: number, isWildcard: boolean): void {
    const base = this.pathLength;
    let node = from;
    if (isWildcard) this.pushIfUsed(node);
    for (let end = labelsEnd; end > this.start;) {
      const labelStart = startOfLabel(this.text, this.start, end);
      if (this.hasAsterisk && this.isPattern(labelStart, end)) {
        this.decide(base, root, isWildcard);
        this.followMatching(node, labelStart, end);
        this.pathLength = base;
        return;
      }
      const child = this.names.child(node, this.text, labelStart, end);
      if (child === root) {
        this.decide(base, root, isWildcard);
        this.pathLength = base;
        return;
      }
      node = child;
      this.pushIfUsed(node);
      end = labelStart - 1;
    }
    this.decide(base, node, isWildcard);
    if (this.isOdd) {
      this.decide(base, root, isWildcard);
      this.decideBelow(node, isWildcard);
    }
    this.pathLength = base;
  }

  private isPattern(labelStart: number, labelEnd: number): boolean {
    for (let at = labelStart; at < labelEnd; at += 1) if (this.text.charCodeAt(at) === asterisk) return true;
    return false;
  }

  private pushIfUsed(node: number): void {
    if (this.domains.first(node) === none) return;
    this.path[this.pathLength] = node;
    this.pathLength += 1;
  }

  /** Continues at each child whose label matches the one with an asterisk. */
  private followMatching(parent: number, labelStart: number, labelEnd: number): void {
    if (!this.canExpand(parent)) return;
    const { text } = this;
    for (let child = this.names.firstChild(parent); child !== root; child = this.names.nextSibling(child)) {
      this.visits += 1;
      if (this.names.matchesPattern(child, text, labelStart, labelEnd))
        this.follow(child, labelStart - 1, true);
    }
  }

  /** All below a node: each may be the name of an odd text, or the tree that contains it. */
  private decideBelow(parent: number, isWildcard: boolean): void {
    if (!this.canExpand(parent)) return;
    for (let child = this.names.firstChild(parent); child !== root; child = this.names.nextSibling(child)) {
      this.visits += 1;
      this.decideAt(child, true, isWildcard);
      this.decideAt(child, false, isWildcard);
      this.decideBelow(child, isWildcard);
    }
  }

  private canExpand(parent: number): boolean {
    if (this.names.firstChild(parent) === root || !this.isRunCounted()) return false;
    if (!this.mayExpand) this.isCutShort = true;
    return this.mayExpand;
  }

  /**
   * Decides about a name for each account with a monitored domain on the path: the most specific one decides.
   *
   * @param node of the name; `root`: the name has none, and is below the path
   */
  private decide(base: number, node: number, isWildcard: boolean): void {
    const last = this.pathLength - 1;
    if (last < base || !this.isRunCounted()) return;
    if (last === base)
      return this.decideAt(this.nodeOnPath(last), this.nodeOnPath(last) === node, isWildcard);
    this.decisions += 1;
    for (let at = last; at >= base; at -= 1) {
      const above = this.nodeOnPath(at);
      for (let entry = this.domains.first(above); entry !== none; entry = this.domains.next(entry)) {
        const account = this.domains.accountOf(entry);
        if (this.lastDecisions[account] === this.decisions) continue;
        if (this.decideEntry(entry, above === node, isWildcard)) this.lastDecisions[account] = this.decisions;
      }
    }
  }

  private nodeOnPath(at: number): number {
    return this.path[at] ?? root;
  }

  /** The same for the monitored domains at one node. */
  private decideAt(node: number, isExact: boolean, isWildcard: boolean): void {
    for (let entry = this.domains.first(node); entry !== none; entry = this.domains.next(entry))
      this.decideEntry(entry, isExact, isWildcard);
  }

  /** @returns whether a monitored domain of the entry matches the name, enabled or not */
  private decideEntry(entry: number, isExact: boolean, isWildcard: boolean): boolean {
    this.visits += 1;
    const bits = this.domains.bitsOf(entry);
    const kind = isExact && (bits & exact.isSet) !== 0 ? exact : tree;
    if ((bits & kind.isSet) === 0) return false;
    if ((bits & kind.isEnabled) !== 0) this.addHit(entry, kind === tree, isWildcard);
    return true;
  }

  private addHit(entry: number, isTree: boolean, isWildcard: boolean): void {
    const key = 2 * entry + (isTree ? 1 : 0);
    const known = this.isRepeating ? this.hitsByDomain.get(key) : undefined;
    if (known !== undefined) {
      known.isWildcard &&= isWildcard;
      return;
    }
    const [account, node] = [this.domains.accountOf(entry), this.domains.nodeOf(entry)];
    const hit = { account, node, isTree, isWildcard };
    this.hits.push(hit);
    if (this.isRepeating) this.hitsByDomain.set(key, hit);
  }

  /** An odd run counts if it is below a public suffix, and once. */
  private isRunCounted(): boolean {
    if (!this.isOdd) return true;
    this.isCounted ??= this.checkRun(this.text.slice(this.start, this.end));
    return this.isCounted;
  }

  private checkRun(run: string): boolean {
    if (this.runs.has(run)) return false;
    this.runs.add(run);
    return registeredDomain(run.replace(/[^.]*\*[^.]*/g, anyLabel)) !== null;
  }
}
