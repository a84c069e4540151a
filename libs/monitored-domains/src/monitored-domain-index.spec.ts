import { type CertificateMatch, MonitoredDomainIndex } from './index';

/** `account: name→monitored domain`, in the order of the result. */
function lines({ accounts }: CertificateMatch): string[] {
  return accounts.flatMap(({ account, names }) =>
    names.map(({ dnsName, monitoredDomain }) => `${account}: ${dnsName} → ${monitoredDomain}`),
  );
}

const accountsOf = (match: CertificateMatch) => match.accounts.map(({ account }) => account);
const repeated = (count: number, text: (nth: number) => string) =>
  Array.from({ length: count }, (_, nth) => text(nth));

describe('monitored domains', () => {
  it('are separate objects with and without the leading dot', () => {
    const index = new MonitoredDomainIndex();
    index.set('1', 'example.com', true);
    index.set('1', '.example.com', true);
    index.set('1', '.example.com', false);
    expect(index.size).toBe(2);
    expect(lines(index.match(['a.example.com', 'example.com']))).toEqual(['1: example.com → example.com']);
    expect(index.remove('1', 'example.com')).toBe(true);
    expect(index.match(['example.com']).accounts).toEqual([]);
    index.set('1', '.example.com', true);
    expect(lines(index.match(['example.com']))).toEqual(['1: example.com → .example.com']);
  });

  it('are enabled if any account has them enabled', () => {
    const index = new MonitoredDomainIndex();
    index.set('1', '.example.com', false);
    index.set('2', 'www.example.com', true);
    expect(['.example.com', 'www.example.com'].map((name) => index.isEnabled(name))).toEqual([false, true]);
    index.set('2', '.example.com', true);
    for (const name of [
      'example.com',
      '.www.example.com',
      'a.example.com',
      '',
      '.',
      `${'a.'.repeat(200)}com`,
      'x y',
    ])
      expect([name, index.isEnabled(name)]).toEqual([name, false]);
    expect(index.isEnabled('.example.com')).toBe(true);
    index.remove('2', '.example.com');
    expect(index.isEnabled('.example.com')).toBe(false);
  });

  it('of one account do not affect those of another one', () => {
    const index = new MonitoredDomainIndex();
    for (const account of ['1', '2', '3']) index.set(account, '.example.com', true);
    index.set('2', 'www.example.com', false);
    expect(accountsOf(index.match(['www.example.com']))).toEqual(['1', '3']);
    expect(index.remove('1', '.example.com')).toBe(true);
    expect(accountsOf(index.match(['www.example.com']))).toEqual(['3']);
    expect(accountsOf(index.match(['a.example.com']))).toEqual(['2', '3']);
  });

  it('can be removed once, and only by their account', () => {
    const index = new MonitoredDomainIndex();
    index.set('1', 'www.example.com', true);
    for (const [account, name] of [
      ['2', 'www.example.com'],
      ['1', '.www.example.com'],
      ['1', 'example.com'],
      ['1', '.com'],
      ['1', 'example.net'],
    ] as const)
      expect(index.remove(account, name)).toBe(false);
    expect(index.remove('1', 'www.example.com')).toBe(true);
    expect(index.remove('1', 'www.example.com')).toBe(false);
    expect(index.size).toBe(0);
  });

  it('leave nothing behind that names are compared with', () => {
    const index = new MonitoredDomainIndex({ maxVisits: 0 });
    const names = ['.example.com', 'a.b.example.com', '.a.b.example.com', 'x.example.net'];
    for (const name of names) index.set('1', name, true);
    expect(index.match(['*.w*.com']).isComplete).toBe(false);
    for (const name of names) index.remove('1', name);
    for (const text of ['*.w*.com', 'a b.example.com', 'w*.net', '*.*'])
      expect(index.match([text])).toEqual({ accounts: [], isComplete: true });
  });

  it('can be added by an account that had removed all of them', () => {
    const index = new MonitoredDomainIndex();
    for (const account of ['1', '2']) index.set(account, '.example.com', true);
    index.remove('1', '.example.com');
    index.set('3', '.example.com', true);
    index.set('1', '.example.com', true);
    expect(accountsOf(index.match(['www.example.com']))).toEqual(['1', '2', '3']);
  });

  it('of accounts that come and go need no more memory', () => {
    const index = new MonitoredDomainIndex();
    for (const account of repeated(1_000, String)) {
      index.set(account, '.example.com', true);
      index.remove(account, '.example.com');
    }
    expect(index['accounts'].length).toBe(1);
  });

  it('of many accounts can have the same name', () => {
    const index = new MonitoredDomainIndex();
    for (const account of repeated(50_000, String)) index.set(account, '.example.com', true);
    expect(index.match(['www.example.com']).accounts).toHaveLength(50_000);
    for (const account of repeated(49_999, String)) index.remove(account, '.example.com');
    expect(accountsOf(index.match(['www.example.com']))).toEqual(['49999']);
  });

  it.each([
    '*.example.com',
    'Example.com',
    'example.com.',
    '..example.com',
    '',
    '.',
    'a b.com',
    'b\u00fccher.com',
  ])('are refused unless they are in normal form: %j', (name) => {
    const index = new MonitoredDomainIndex();
    expect(() => index.set('1', name, true)).toThrow(RangeError);
    expect(() => index.remove('1', name)).toThrow(RangeError);
  });
});

describe('the order', () => {
  const domains = ['b.example.com', '.a.example.com', 'c.example.com', '.example.com', 'a.example.com'];

  it('is that of accounts, then of names in the certificate, then of monitored domains', () => {
    for (const added of [domains, [...domains].reverse()]) {
      const index = new MonitoredDomainIndex();
      for (const account of ['2', '10', '1']) for (const domain of added) index.set(account, domain, true);
      const all = [
        '*.example.com → .example.com',
        '*.example.com → a.example.com',
        '*.example.com → b.example.com',
      ];
      const expected = ['z.example.com → .example.com', ...all, '*.example.com → c.example.com'];
      expect(lines(index.match(['z.example.com', '*.example.com', 'z.example.com']))).toEqual(
        ['1', '10', '2'].flatMap((account) => expected.map((line) => `${account}: ${line}`)),
      );
    }
  });
});

describe('a certificate that no CA should issue', () => {
  it('lists the first names of an account, up to the limit', () => {
    const index = new MonitoredDomainIndex({ maxNames: 3 });
    for (const domain of ['.example.com', 'a.example.net', 'b.example.net']) index.set('1', domain, true);
    index.set('2', '.example.org', true);
    const names = ['1.example.com', '2.example.com', '*.example.net', '3.example.com', 'example.org'];
    const match = index.match(names);
    expect(lines(match)).toEqual([
      '1: 1.example.com → .example.com',
      '1: 2.example.com → .example.com',
      '1: *.example.net → a.example.net',
      '1: *.example.net → b.example.net',
      '2: example.org → .example.org',
    ]);
    expect(match.accounts.map(({ isComplete }) => isComplete)).toEqual([false, true]);
    expect(match.isComplete).toBe(true);
  });

  it('is compared with a limited number of monitored domains, whatever the order in which they were added', () => {
    const domains = [...repeated(500, (nth) => `n${nth}.example.com`), '.example.com', 'x.example.net'];
    const names = ['n*1.example.com', 'a n7.example.com', 'b example.com', '*9.example.com', '*.example.net'];
    const all = new MonitoredDomainIndex();
    for (const domain of domains) all.set('1', domain, true);
    const complete = all.match(names);
    expect(complete.isComplete).toBe(true);
    for (const added of [domains, [...domains].reverse()]) {
      const index = new MonitoredDomainIndex({ maxVisits: 400 });
      for (const domain of added) index.set('1', domain, true);
      const match = index.match(names);
      expect(match.isComplete).toBe(false);
      // What is above the unusual text is found, and everything for other names.
      const isFound = (line: string) => /n\*1|a n7|→ \.example\.com|\.net/.test(line);
      expect(lines(match)).toEqual(lines(complete).filter(isFound));
    }
    expect(lines(complete).filter((line) => line.includes('b example.com'))).toHaveLength(501);
  });

  it('with nothing unusual is always compared completely', () => {
    const index = new MonitoredDomainIndex({ maxVisits: 0 });
    for (const domain of ['a.example.com', '.example.com']) index.set('1', domain, true);
    expect(
      index.match(['*.example.com', 'b.example.com', 'a b.example.net', 'w*.example.net']),
    ).toMatchObject({
      accounts: [{ names: { length: 3 } }],
      isComplete: true,
    });
  });

  it('is compared completely even if its usual names concern more than the limit', () => {
    const index = new MonitoredDomainIndex({ maxVisits: 10 });
    for (const domain of ['a.example.com', 'b.example.com', '.example.com']) index.set('1', domain, true);
    const names = [...repeated(20, (nth) => `n${nth}.example.com`), '*.example.com', 'a*.example.com'];
    expect(index.match(names)).toMatchObject({ accounts: [{ names: { length: 25 } }], isComplete: true });
  });

  const mebibyte = 2 ** 20;
  const index = new MonitoredDomainIndex();
  beforeAll(() => {
    for (let nth = 0; nth < 20_000; nth += 1)
      index.set(String(nth % 100), `${nth % 2 === 0 ? '.' : ''}n${nth}.example.com`, true);
  });
  const filled = (unit: string, end = '') => unit.repeat(Math.ceil(mebibyte / unit.length)) + end;

  // With quadratic cost, each would take hours.
  it.each<[string, readonly string[]]>([
    ['10,000 names', repeated(10_000, (nth) => `a${nth}.n2.example.com`)],
    ['10,000 wildcards', repeated(10_000, (nth) => `*.n${nth}.example.com`)],
    ['10,000 names with asterisks in labels', repeated(10_000, (nth) => `*${nth}*.example.com`)],
    ['10,000 asterisks', ['*'.repeat(60), ...repeated(9_999, (nth) => `${'*.'.repeat(nth % 120)}com`)]],
    ['10,000 odd names', repeated(10_000, (nth) => `${nth} example.com`)],
    ['a text without labels', [filled(' ')]],
    ['a text without dots', [filled('a')]],
    ['a text of dots', [filled('.')]],
    ['one label after another', [filled('a.', 'com')]],
    ['one asterisk after another', [filled('*.', 'com')]],
    ['one label and one space after another', [filled('a ')]],
    ['the same name again and again', [filled('n2.example.com ')]],
    ['many short runs', [repeated(100_000, (nth) => `${nth}.com`).join(' ')]],
    ['many monitored names', [repeated(50_000, (nth) => `n${nth}.example.com`).join(',')]],
    ['many patterns', [repeated(20_000, (nth) => `*${nth}*${nth}*.example.com`).join(',')]],
    ['letters in upper case', [filled('A.', 'COM')]],
  ])('is compared in linear time: %s', (_what, names) => {
    expect(index.match(names).accounts.length).toBeLessThanOrEqual(100);
    const bytes = Buffer.from(names.join('\0'));
    expect(index.matchUnreadable(bytes).accounts.length).toBeLessThanOrEqual(100);
  });
});
