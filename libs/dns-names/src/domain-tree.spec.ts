import {
  ancestorsToRegisteredDomain,
  approvalLabelOf,
  baseName,
  constructedApproverAddresses,
  isConstructedApproverAddress,
  isWildcard,
  mostSpecificMatch,
  parseMonitoredName,
  quoteInput,
  registeredDomain,
} from './index';

describe('the tree of a domain', () => {
  it('strips a wildcard to the name that it is approved at', () => {
    expect([isWildcard('*.example.com'), isWildcard('example.com')]).toEqual([true, false]);
    expect([baseName('*.a.example.com'), baseName('a.example.com')]).toEqual([
      'a.example.com',
      'a.example.com',
    ]);
    expect(approvalLabelOf('*.a.example.com')).toBe('_acme-challenge.a.example.com');
  });

  it.each([
    ['a.b.example.co.uk', 'example.co.uk'],
    ['*.example.com', 'example.com'],
    ['a.b.github.io', 'b.github.io'],
    ['co.uk', null],
    ['foo.local', null],
  ])('finds the registered domain of %s', (name, domain) => expect(registeredDomain(name)).toBe(domain));

  it('walks from a name down to its registered domain', () => {
    expect(ancestorsToRegisteredDomain('*.a.b.example.co.uk')).toEqual([
      'a.b.example.co.uk',
      'b.example.co.uk',
      'example.co.uk',
    ]);
    expect(ancestorsToRegisteredDomain('example.com')).toEqual(['example.com']);
    expect(ancestorsToRegisteredDomain('localhost')).toEqual([]);
  });

  it('constructs the five approver addresses at the name and at each parent down to the registered domain', () => {
    const addresses = constructedApproverAddresses('*.www.example.com');
    expect(addresses.slice(0, 5)).toEqual(
      ['admin', 'administrator', 'hostmaster', 'postmaster', 'webmaster'].map(
        (mailbox) => `${mailbox}@www.example.com`,
      ),
    );
    expect(addresses).toHaveLength(10);
    expect(addresses).not.toContain('admin@com');
    expect(isConstructedApproverAddress('www.example.com', 'Admin@Example.com')).toBe(true);
    expect(isConstructedApproverAddress('www.example.com', 'admin@api.example.com')).toBe(false);
    expect(isConstructedApproverAddress('kelvin.com', 'admin@\u212aelvin.com')).toBe(false);
  });
});

describe('monitored domains: the most specific entry decides', () => {
  const entries = ['.example.com', '.a.example.com', 'a.example.com', 'b.example.com', 'xexample.com'].map(
    (name) => ({ name }),
  );

  it.each([
    ['a.example.com', 'a.example.com'],
    ['x.a.example.com', '.a.example.com'],
    ['c.example.com', '.example.com'],
    ['example.com', '.example.com'],
    ['c.b.example.com', '.example.com'],
    ['*.example.com', '.example.com'],
    ['notexample.com', undefined],
    ['xexample.com', 'xexample.com'],
    ['example.com.evil.net', undefined],
  ])('%s is decided by %s', (name, decider) => {
    expect(mostSpecificMatch(entries, name)?.name).toBe(decider);
    expect(mostSpecificMatch([...entries].reverse(), name)?.name).toBe(decider);
  });

  it('lets the exact name win over both dotted entries, also when it is the one that is disabled', () => {
    const account = [
      { name: '.a.example.com', enabled: true },
      { name: 'a.example.com', enabled: false },
      { name: '.example.com', enabled: true },
    ];
    expect(mostSpecificMatch(account, 'a.example.com')?.enabled).toBe(false);
  });

  it.each([
    ['.Example.com', '.example.com'],
    ['example.com', 'example.com'],
    ['.bücher.com', '.xn--bcher-kva.com'],
  ])('reads the name %s', (input, name) => expect(parseMonitoredName(input)).toEqual({ ok: true, name }));

  it.each(['*.example.com', '.*.example.com', '..example.com', '.', '.co.uk', 'localhost', 5])(
    'refuses the name %j',
    (input) => expect(parseMonitoredName(input).ok).toBe(false),
  );
});

describe('quoting input', () => {
  it('escapes what is invisible, cuts what is long, and never repeats a value that is no string', () => {
    expect(quoteInput('a\n\u200b"\\b')).toBe('"a\\u{a}\\u{200b}\\u{22}\\u{5c}b"');
    expect(quoteInput('ü ok')).toBe('"ü ok"');
    expect(quoteInput('x'.repeat(81))).toBe(`"${'x'.repeat(80)}…"`);
    expect(quoteInput({ secret: 1 })).toBe('a value of type object');
  });
});
