import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { indexKeys, matchesQuery, type NameQuery, queryKeys } from './index';

const digest = (name: string) => createHash('sha256').update(name).digest('hex');
const exact = (name: string) => digest(name).slice(0, 16);
const tree = (name: string) => digest(name).slice(16, 32);

const query = (domain: string, more: Partial<NameQuery> = {}): NameQuery => ({
  domain,
  includeSubdomains: false,
  matchWildcards: false,
  ...more,
});
const subdomains = { includeSubdomains: true };
const wildcards = { matchWildcards: true };

describe('an issuance is stored under', () => {
  it.each<[string, string[], string[]]>([
    ['one name', ['example.com'], [exact('example.com'), tree('example.com')]],
    [
      'a name below',
      ['a.b.example.com'],
      [exact('a.b.example.com'), tree('a.b.example.com'), tree('b.example.com'), tree('example.com')],
    ],
    ['a wildcard', ['*.example.com'], [exact('*.example.com'), tree('example.com')]],
    ['a wildcard of a single label', ['*.com'], [exact('*.com')]],
    [
      'names with the same ancestors',
      ['example.com', 'www.example.com', 'a.example.com'],
      [
        exact('example.com'),
        tree('example.com'),
        exact('www.example.com'),
        tree('www.example.com'),
        exact('a.example.com'),
        tree('a.example.com'),
      ],
    ],
    [
      'a name after what is below it',
      ['www.example.com', 'example.com'],
      [exact('www.example.com'), tree('www.example.com'), tree('example.com'), exact('example.com')],
    ],
    [
      'a wildcard and what it covers',
      ['*.example.com', 'x.example.com'],
      [exact('*.example.com'), tree('example.com'), exact('x.example.com'), tree('x.example.com')],
    ],
    ['a name twice', ['example.com', 'example.com'], [exact('example.com'), tree('example.com')]],
    ['a single label', ['localhost'], []],
    ['nothing', [], []],
  ])('%s', (_what, names, keys) => {
    const ours = indexKeys(names);
    expect([...ours].sort()).toEqual([...keys].sort());
    for (const key of ours) expect(key).toMatch(/^[0-9a-f]{16}$/);
  });

  it('separate keys for the exact name and the tree', () => {
    expect(exact('example.com')).not.toBe(tree('example.com'));
  });
});

describe('a query uses the keys of', () => {
  it.each<[string, NameQuery, string[]]>([
    ['the name', query('example.com'), [exact('example.com')]],
    ['the tree', query('example.com', subdomains), [tree('example.com')]],
    [
      'the wildcard, too',
      query('x.example.com', wildcards),
      [exact('x.example.com'), exact('*.example.com')],
    ],
    [
      'tree and wildcard',
      query('x.example.com', { ...subdomains, ...wildcards }),
      [tree('x.example.com'), exact('*.example.com')],
    ],
    ['a wildcard', query('*.example.com', { ...subdomains, ...wildcards }), [exact('*.example.com')]],
  ])('%s', (_what, requested, keys) => expect(queryKeys(requested)).toEqual(keys));
});

describe('an issuance matches', () => {
  it.each<[string, NameQuery, boolean]>([
    ['example.com', query('example.com'), true],
    ['www.example.com', query('example.com'), false],
    ['www.example.com', query('example.com', subdomains), true],
    ['a.b.c.example.com', query('example.com', subdomains), true],
    ['example.com', query('www.example.com', subdomains), false],
    ['notexample.com', query('example.com', subdomains), false],
    ['example.com.evil.net', query('example.com', subdomains), false],
    ['*.example.com', query('*.example.com'), true],
    ['*.example.com', query('example.com'), false],
    ['*.example.com', query('example.com', subdomains), true],
    ['*.example.com', query('example.com', wildcards), false],
    ['*.example.com', query('x.example.com'), false],
    ['*.example.com', query('x.example.com', wildcards), true],
    ['*.example.com', query('x.example.com', subdomains), false],
    ['*.example.com', query('y.x.example.com', wildcards), false],
    ['*.x.example.com', query('x.example.com', wildcards), false],
    ['*.x.example.com', query('x.example.com', subdomains), true],
    ['*.com', query('example.com', wildcards), true],
    ['x*.example.com', query('xy.example.com', wildcards), false],
    ['x.example.com', query('*.example.com', wildcards), false],
  ])('%s, %j: %s', (name, requested, expected) => {
    expect(matchesQuery([name], requested)).toBe(expected);
    expect(matchesQuery(['other.net', name], requested)).toBe(expected);
  });

  it('not with no names', () => expect(matchesQuery([], query('example.com', subdomains))).toBe(false));
});

describe('a name with many labels', () => {
  const labels = (count: number) => Array.from({ length: count }, (_, nth) => `l${nth}`).join('.');
  const deep = `${labels(60)}.example.com`;

  it('is stored under nine keys: its own, and those of its suffixes of two to eight labels', () => {
    expect(indexKeys([deep]).sort()).toEqual(
      [
        exact(deep),
        ...[2, 3, 4, 5, 6, 7, 8].map((count) => tree(deep.split('.').slice(-count).join('.'))),
      ].sort(),
    );
    expect(indexKeys([`${labels(6)}.example.com`])).toHaveLength(8);
  });

  it.each([2, 7, 8, 9, 20, 62])('is found below its suffix of %s labels, and below no other one', (count) => {
    const end = deep.split('.').slice(-count).join('.');
    for (const [domain, expected] of [
      [end, true],
      [`x${end}`, false],
      [`x.${end}`, false],
    ] as const) {
      const requested = query(domain, subdomains);
      const isFound =
        queryKeys(requested).some((key) => indexKeys([deep]).includes(key)) &&
        matchesQuery([deep], requested);
      expect([domain, isFound]).toEqual([domain, expected]);
    }
  });
});

it('every match is found by its keys', () => {
  const label = fc.constantFrom('a', 'com', '*');
  const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
  const requested = fc.record({
    domain: name,
    includeSubdomains: fc.boolean(),
    matchWildcards: fc.boolean(),
  });
  let matches = 0;
  fc.assert(
    fc.property(fc.array(name, { maxLength: 5 }), requested, (names, each) => {
      const keys = indexKeys(names);
      const found = queryKeys(each).some((key) => keys.includes(key));
      // No query is for a single label.
      if (!each.domain.includes('.')) return;
      if (matchesQuery(names, each)) matches++;
      expect([names, each, found]).toEqual([names, each, matchesQuery(names, each)]);
    }),
    { numRuns: 5000, seed: 6125 },
  );
  expect(matches).toBeGreaterThan(100);
});
