import { billableNames } from './purchase-names';

describe('billableNames', () => {
  it.each([
    ['nothing', [], 0, 0],
    ['one name', ['example.com'], 1, 0],
    ['a name and its www. twin', ['example.com', 'www.example.com'], 1, 0],
    ['the twin alone', ['www.example.com'], 1, 0],
    ['names of one domain', ['example.com', 'a.example.com', 'b.example.com'], 3, 0],
    ['two pairs', ['www.b.org', 'a.org', 'b.org', 'www.a.org'], 2, 0],
    ['a wildcard', ['*.example.com'], 0, 1],
    ['a wildcard and its bare name', ['*.example.com', 'example.com'], 0, 1],
    [
      'a wildcard, its bare name and the twin of that',
      ['*.example.com', 'example.com', 'www.example.com'],
      0,
      1,
    ],
    ['a wildcard and a name that it covers', ['*.example.com', 'shop.example.com'], 0, 1],
    ['a wildcard and a name below those that it covers', ['*.example.com', 'a.b.example.com'], 1, 1],
    ['a wildcard and another domain', ['*.example.com', 'example.org'], 1, 1],
    ['wildcards one below the other', ['*.example.com', '*.a.example.com', 'a.example.com'], 0, 2],
    [
      'a wildcard of www. and the name after its asterisk',
      ['*.www.example.com', 'www.example.com', 'example.com'],
      1,
      1,
    ],
    ['duplicates', ['example.com', 'example.com', '*.a.org', '*.a.org'], 1, 1],
    ['a chain of twins', ['example.com', 'www.example.com', 'www.www.example.com'], 2, 0],
    ['a name that only looks like a twin', ['example.com', 'wwwexample.com'], 2, 0],
    ['names of objects', ['__proto__', 'www.__proto__', 'constructor'], 2, 0],
  ])('counts %s', (_, dnsNames, names, wildcards) => {
    expect(billableNames(dnsNames)).toEqual({ names, wildcards });
  });

  const pool = ['a.org', 'www.a.org', 'www.www.a.org', '*.a.org', '*.www.a.org', 'b.a.org', 'www.b.a.org'];
  const subsets = Array.from({ length: 2 ** pool.length }, (_, bits) =>
    pool.filter((_name, index) => (bits >> index) & 1),
  );

  it('does not depend on the sequence of the names', () => {
    for (const subset of subsets) expect(billableNames(subset)).toEqual(billableNames([...subset].reverse()));
  });

  it('never counts less when a name is added, and at most one more', () => {
    for (const subset of subsets) {
      const before = billableNames(subset);
      for (const added of pool.filter((name) => !name.startsWith('*.') && !subset.includes(name))) {
        const after = billableNames([...subset, added]);
        expect(after.wildcards).toBe(before.wildcards);
        expect([0, 1]).toContain(after.names - before.names);
      }
    }
  });

  it('counts every wildcard; a wildcard never increases the count of other names', () => {
    for (const subset of subsets) {
      const before = billableNames(subset);
      for (const added of pool.filter((name) => name.startsWith('*.') && !subset.includes(name))) {
        const after = billableNames([...subset, added]);
        expect(after.wildcards).toBe(before.wildcards + 1);
        expect(after.names).toBeLessThanOrEqual(before.names);
      }
    }
  });
});
