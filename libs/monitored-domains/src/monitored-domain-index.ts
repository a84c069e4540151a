import { quoteInput } from '@certwright/dns-names';
import { AccountDomains, exact, none, tree } from './account-domains';
import type { CertificateMatch } from './certificate-match';
import { FoundNames } from './found-names';
import { NameMatcher } from './name-matcher';
import { asciiLowerCase, shapeOf } from './name-text';
import { NameTree, root } from './name-tree';
import { forEachRunInBytes } from './unreadable-bytes';

export interface MatchLimits {
  /**
   * Max monitored domains and labels that are compared with unusual texts of one certificate before no further such text is
   * compared with those below it. Names, `*.example.com`, and trees above any text are always found.
   */
  readonly maxVisits: number;
  /** Max names of a certificate that are listed per account, so that hostile certificates do not fill the memory. */
  readonly maxNames: number;
}

const defaultLimits: MatchLimits = { maxVisits: 1_000_000, maxNames: 1_000 };

/** Of a monitored domain, with the leading dot. */
const maxNameLength = 254;

const nothing: CertificateMatch = { accounts: [], isComplete: true };

/** The monitored domains of all accounts, in memory. Accounts are independent of each other. */
export class MonitoredDomainIndex {
  private readonly names = new NameTree();
  private readonly domains = new AccountDomains();
  private readonly matcher: NameMatcher;
  private readonly limits: MatchLimits;

  /** Accounts by number; a number without monitored domains is used again. */
  private readonly accounts: string[] = [];
  private readonly domainsOfAccount: number[] = [];
  private readonly accountNumbers = new Map<string, number>();
  private readonly freeNumbers: number[] = [];
  private count = 0;

  constructor(limits: Partial<MatchLimits> = {}) {
    this.limits = { ...defaultLimits, ...limits };
    this.matcher = new NameMatcher(this.names, this.domains, this.limits.maxVisits);
  }

  /** Number of monitored domains. */
  get size(): number {
    return this.count;
  }

  /**
   * Adds a monitored domain, or changes it.
   *
   * @param name in normal form (`parseMonitoredName` of dns-names)
   */
  set(account: string, name: string, isEnabled: boolean): void {
    const { start, kind } = monitored(name);
    const node = this.names.ensure(name, start);
    const number = this.numberOf(account);
    const bits = this.domains.bitsOf(this.domains.find(node, number));
    if ((bits & kind.isSet) === 0) this.countDomains(number, 1);
    const others = bits & ~(kind.isSet | kind.isEnabled);
    this.domains.set(node, number, others | kind.isSet | (isEnabled ? kind.isEnabled : 0));
  }

  /** Removes a monitored domain. @returns whether there was one */
  remove(account: string, name: string): boolean {
    const { start, kind } = monitored(name);
    const node = this.names.find(name, start);
    const number = this.accountNumbers.get(account);
    if (node === root || number === undefined) return false;
    const bits = this.domains.bitsOf(this.domains.find(node, number));
    if ((bits & kind.isSet) === 0) return false;
    this.domains.set(node, number, bits & ~(kind.isSet | kind.isEnabled));
    this.names.prune(node, (each) => this.domains.first(each) !== none);
    this.countDomains(number, -1);
    return true;
  }

  /** Whether any account has the monitored domain, enabled. */
  isEnabled(name: string): boolean {
    if (name.length > maxNameLength) return false;
    const [start, kind] = name.startsWith('.') ? [1, tree] : [0, exact];
    const node = this.names.find(name, start);
    if (node === root) return false;
    for (let entry = this.domains.first(node); entry !== none; entry = this.domains.next(entry))
      if ((this.domains.bitsOf(entry) & kind.isEnabled) !== 0) return true;
    return false;
  }

  private numberOf(account: string): number {
    const known = this.accountNumbers.get(account);
    if (known !== undefined) return known;
    const number = this.freeNumbers.pop() ?? this.accounts.length;
    this.accounts[number] = account;
    this.domainsOfAccount[number] = 0;
    this.accountNumbers.set(account, number);
    return number;
  }

  private countDomains(number: number, change: 1 | -1): void {
    this.count += change;
    const left = (this.domainsOfAccount[number] ?? 0) + change;
    this.domainsOfAccount[number] = left;
    if (left > 0) return;
    this.accountNumbers.delete(this.accounts[number] ?? '');
    this.accounts[number] = '';
    this.freeNumbers.push(number);
  }

  /**
   * The accounts that a certificate concerns.
   *
   * @param dnsNames all names and odd names of the certificate
   */
  match(dnsNames: readonly string[]): CertificateMatch {
    this.matcher.begin(this.accounts.length);
    let found: FoundNames | undefined;
    for (const given of dnsNames.length > 1 ? new Set(dnsNames) : dnsNames) {
      const shape = shapeOf(given);
      const dnsName = shape.hasUpperCase ? asciiLowerCase(given) : given;
      const hits = this.matcher.hitsOf(dnsName, shape);
      if (hits.length === 0) continue;
      found ??= new FoundNames(this.names, this.limits.maxNames);
      found.add(dnsName, shape.isOdd, hits);
    }
    return this.result(found);
  }

  /**
   * The accounts that an entry of a log concerns which cannot be read as a certificate.
   *
   * @param bytes the entry as stored
   */
  matchUnreadable(bytes: Uint8Array): CertificateMatch {
    this.matcher.begin(this.accounts.length);
    const found = new FoundNames(this.names, this.limits.maxNames);
    forEachRunInBytes(bytes, (text, start, end) => {
      const hits = this.matcher.hitsOfRun(text, start, end);
      if (hits.length > 0) found.add(text.slice(start, end), true, hits);
    });
    return this.result(found);
  }

  private result(found: FoundNames | undefined): CertificateMatch {
    const isComplete = !this.matcher.isIncomplete;
    if (found === undefined) return isComplete ? nothing : { ...nothing, isComplete };
    return { accounts: found.accounts((number) => this.accounts[number] ?? ''), isComplete };
  }
}

/** Offset of the name without the leading dot, and the kind. */
function monitored(name: string): { readonly start: 0 | 1; readonly kind: typeof exact | typeof tree } {
  const isTree = name.startsWith('.');
  const { isOdd, hasAsterisk, hasUpperCase } = shapeOf(isTree ? name.slice(1) : name);
  if (isOdd || hasAsterisk || hasUpperCase)
    throw new RangeError(`${quoteInput(name)} is not the name of a monitored domain in normal form.`);
  return isTree ? { start: 1, kind: tree } : { start: 0, kind: exact };
}
