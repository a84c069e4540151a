import { readFileSync } from 'node:fs';
import path from 'node:path';
import { mostSpecificMatch, registeredDomain } from '@certwright/dns-names';
import { type ConcernedAccount, type ConcernedName, MonitoredDomainIndex } from './index';

// The rule a second time, written from its definition: a text represents a set of names, and a monitored domain is
// concerned if it is enabled and decides about one of them. Here the names are tried one by one.

interface Domain {
  readonly name: string;
  readonly isEnabled: boolean;
}

/** A label that no monitored domain has. */
const fresh = 'fresh-label';

/** The labels of a text or run, and whether names below it count, too. */
interface Pattern {
  readonly labels: readonly string[];
  readonly countsBelow: boolean;
}

const isLabel = (text: string) => /^[a-z0-9_*-]{1,63}$/.test(text);

function patternsOf(text: string): { readonly isOdd: boolean; readonly patterns: readonly Pattern[] } {
  const labels = text.split('.');
  if (text.length <= 253 && labels.every(isLabel))
    return { isOdd: false, patterns: [{ labels, countsBelow: false }] };
  const runs = text.split(/[^a-z0-9_*.-]/).flatMap((part) => {
    const found: string[][] = [[]];
    for (const label of part.split('.')) {
      if (isLabel(label)) found.at(-1)?.push(label);
      else found.push([]);
    }
    return found;
  });
  const counted = runs.filter(
    (run) =>
      run.length >= 2 &&
      registeredDomain(run.map((label) => (label.includes('*') ? fresh : label)).join('.')) !== null,
  );
  return { isOdd: true, patterns: counted.map((run) => ({ labels: run, countsBelow: true })) };
}

const labelRegExp = (label: string) =>
  new RegExp(`^${label === '*' ? '[a-z0-9_-]+' : label.replaceAll('*', '[a-z0-9_-]*')}$`);

function isInSet({ labels, countsBelow }: Pattern, name: string): boolean {
  const own = name.split('.');
  if (countsBelow ? own.length < labels.length : own.length !== labels.length) return false;
  return labels.every((label, at) => labelRegExp(label).test(own[own.length - labels.length + at] ?? ''));
}

/** A name of the set that is as close to the other name as possible. */
function nameLike({ labels }: Pattern, other: string): string {
  const theirs = other.split('.');
  return labels
    .map((label, at) => {
      if (!label.includes('*')) return label;
      const their = theirs[theirs.length - labels.length + at] ?? '';
      return labelRegExp(label).test(their) ? their : label.replaceAll('*', fresh);
    })
    .join('.');
}

const bare = (domain: string) => domain.replace(/^\./, '');

/** Whether the monitored domain is below the rightmost asterisk. */
function isBelowAsterisk({ labels }: Pattern, domain: string): boolean {
  const literal = labels.length - 1 - labels.findLastIndex((label) => label.includes('*'));
  return literal < labels.length && bare(domain).split('.').length > literal;
}

function concernedNames(domains: readonly Domain[], text: string): ConcernedName[] {
  const { isOdd, patterns } = patternsOf(text);
  const concerned = new Map<string, boolean>();
  for (const pattern of patterns) {
    const near = ['', ...domains.map(({ name }) => bare(name))].flatMap((name) => [
      name,
      nameLike(pattern, name),
    ]);
    const candidates = near.flatMap((name) => [name, `${fresh}.${name}`]);
    for (const name of new Set(candidates.filter((each) => isInSet(pattern, each)))) {
      const decider = mostSpecificMatch(domains, name);
      if (decider?.isEnabled !== true) continue;
      const isWildcard = isBelowAsterisk(pattern, decider.name);
      concerned.set(decider.name, (concerned.get(decider.name) ?? true) && isWildcard);
    }
  }
  return [...concerned]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([monitoredDomain, isWildcard]) => ({
      dnsName: text,
      monitoredDomain,
      isWildcard,
      isOddName: isOdd,
    }));
}

type Accounts = ReadonlyMap<string, ReadonlyMap<string, boolean>>;

function naiveMatch(accounts: Accounts, dnsNames: readonly string[]): ConcernedAccount[] {
  return [...accounts]
    .map(([account, of]) => {
      const domains = [...of].map(([name, isEnabled]) => ({ name, isEnabled }));
      const names = [...new Set(dnsNames)].flatMap((name) => concernedNames(domains, name));
      return { account, names, isComplete: true };
    })
    .filter(({ names }) => names.length > 0)
    .sort((one, other) => (one.account < other.account ? -1 : 1));
}

/** Numbers from 0 to below 1, the same for each seed (mulberry32). */
function numbersOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

const realNames = ['navigli2025h2-000', 'navigli2025h2-001'].flatMap((file) =>
  readFileSync(path.join(__dirname, `../../ct/src/testing/data/${file}.names.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .flatMap((line) => (JSON.parse(line) as { readonly DNS?: readonly string[] }).DNS ?? []),
);

class Drawer {
  constructor(private readonly next: () => number) {}

  number(below: number): number {
    return Math.floor(this.next() * below);
  }

  isTrue(probability: number): boolean {
    return this.next() < probability;
  }

  of<Item>(items: readonly Item[]): Item {
    return items[this.number(items.length)] as Item;
  }

  /** A few labels, so that names are often related. */
  smallName(labels: readonly string[]): string {
    const above = Array.from({ length: this.number(4) }, () => this.of(labels));
    return [
      ...above,
      this.of(['example', 'a', 'example2']),
      this.of(['com', 'com', 'co.uk', 'github.io']),
    ].join('.');
  }

  private baseName(): string {
    if (this.isTrue(0.6)) return this.smallName(['a', 'b', 'ab', 'www', '_x']);
    const labels = this.of(realNames).replace('*.', '').split('.');
    const registered = registeredDomain(labels.join('.'))?.split('.').length ?? labels.length;
    return labels.slice(this.number(labels.length - registered + 1)).join('.');
  }

  domain(): string {
    return (this.isTrue(0.5) ? '.' : '') + this.baseName();
  }

  text(): string {
    if (this.isTrue(0.25)) return this.of(realNames);
    const name = this.smallName(['a', 'b', 'ab', 'www', '_x', '*', 'w*', '*b', 'a*b', '*a*']);
    if (this.isTrue(0.5)) return name;
    if (this.isTrue(0.2)) return `*.${this.baseName()}`;
    const odd = this.of([
      ' ',
      ',',
      ', ',
      '\0',
      '@',
      '?.',
      '..',
      ':',
      '/',
      'ü.',
      '.',
      `${'l'.repeat(64)}.`,
      '\x07',
      'com ',
    ]);
    return this.isTrue(0.5)
      ? `${this.smallName(['a', 'x'])}${odd}${name}`
      : `${odd}${name}${this.of(['', odd])}`;
  }
}

interface Coverage {
  concerned: number;
  wildcard: number;
  odd: number;
  both: number;
}

function changeAndCompare(seed: number, coverage: Coverage): void {
  const draw = new Drawer(numbersOf(seed));
  const index = new MonitoredDomainIndex();
  const accounts = new Map<string, Map<string, boolean>>();
  for (let round = 0; round < 6; round += 1) {
    for (let change = 0; change < 60; change += 1) changeOne(draw, index, accounts);
    expect(index.size).toBe([...accounts.values()].reduce((sum, { size }) => sum + size, 0));
    for (let certificate = 0; certificate < 40; certificate += 1) {
      const dnsNames = Array.from({ length: 1 + draw.number(4) }, () => draw.text());
      const { accounts: found, isComplete } = index.match(dnsNames);
      expect([dnsNames, found]).toEqual([dnsNames, naiveMatch(accounts, dnsNames)]);
      expect(isComplete).toBe(true);
      for (const { names } of found) {
        for (const { isWildcard, isOddName } of names) {
          coverage.concerned += 1;
          if (isWildcard) coverage.wildcard += 1;
          if (isOddName) coverage.odd += 1;
          if (isWildcard && isOddName) coverage.both += 1;
        }
      }
    }
  }
}

function changeOne(
  draw: Drawer,
  index: MonitoredDomainIndex,
  accounts: Map<string, Map<string, boolean>>,
): void {
  const account = String(draw.number(12));
  const domains = accounts.get(account) ?? new Map<string, boolean>();
  const name = domains.size > 0 && draw.isTrue(0.4) ? draw.of([...domains.keys()]) : draw.domain();
  if (draw.isTrue(0.3)) {
    expect(index.remove(account, name)).toBe(domains.delete(name));
  } else {
    const isEnabled = draw.isTrue(0.7);
    index.set(account, name, isEnabled);
    domains.set(name, isEnabled);
  }
  accounts.set(account, domains);
}

it.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'finds the same as all names tried one by one, while monitored domains change (seed %i)',
  (seed) => {
    const coverage: Coverage = { concerned: 0, wildcard: 0, odd: 0, both: 0 };
    changeAndCompare(seed, coverage);
    expect(coverage.concerned).toBeGreaterThan(200);
    expect(Math.min(coverage.wildcard, coverage.odd, coverage.both)).toBeGreaterThan(10);
  },
  60_000,
);

it('finds the same for every name of a real log', () => {
  const draw = new Drawer(numbersOf(2_025));
  const index = new MonitoredDomainIndex();
  const accounts = new Map<string, Map<string, boolean>>();
  for (let change = 0; change < 400; change += 1) changeOne(draw, index, accounts);
  let concerned = 0;
  for (const dnsName of realNames) {
    const expected = naiveMatch(accounts, [dnsName]);
    expect(index.match([dnsName]).accounts).toEqual(expected);
    concerned += expected.length;
  }
  expect(concerned).toBeGreaterThan(50);
}, 60_000);
