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
    ['EXAMPLE.COM.', 'example.com'],
    ['.example.com.', '.example.com'],
    ['.bücher.com', '.xn--bcher-kva.com'],
    ['_sip._tcp.example.com', '_sip._tcp.example.com'],
    ['._dmarc.Example.co.uk', '._dmarc.example.co.uk'],
    ['a_b.example.com', 'a_b.example.com'],
    ['my-app.github.io', 'my-app.github.io'],
  ])('reads the name %s', (input, name) => expect(parseMonitoredName(input)).toEqual({ ok: true, name }));

  it.each(['*.example.com', '.*.example.com', 'w*.example.com', 'a.*.example.com', '*.com', '*', '.*'])(
    'refuses the wildcard %s and names the leading dot',
    (input) =>
      expect(parseMonitoredName(input)).toEqual({
        ok: false,
        code: 'invalid_dns_name',
        message: `"${input}" is a wildcard: use a leading dot to monitor a domain with its sub-domains.`,
      }),
  );

  it.each([
    ['com', 'com'],
    ['.Com.', '.com'],
    ['.co.uk', '.co.uk'],
    ['GitHub.io', 'github.io'],
    ['.github.io', '.github.io'],
    ['localhost', 'localhost'],
    ['www.internal.lan', 'www.internal.lan'],
    ['_tcp', '_tcp'],
  ])('refuses the name %s, which is not public, and returns its normal form', (input, name) =>
    expect(parseMonitoredName(input)).toEqual({
      ok: false,
      code: 'not_public_domain',
      message: expect.stringMatching(/ cannot be monitored: it is /),
      name,
    }),
  );

  it.each([
    '..example.com',
    'example..com',
    'example.com..',
    '.',
    '..',
    '',
    '-a.example.com',
    '\u00fc_b.example.com',
    'exa mple.com',
    'exa\u200bmple.com',
    '\u202eexample.com',
    '\u{1f600}\u{1f600}_.com',
    'a\0.example.com',
    'example\u3002com',
    'https://example.com',
    'example.com:443',
    'example.com/a',
    '192.0.2.1',
    '[2001:db8::1]',
    `${'x'.repeat(64)}.com`,
    `${'x.'.repeat(126)}com`,
    'x'.repeat(100_000),
    5,
    null,
  ])('refuses the name %j', (input) =>
    expect(parseMonitoredName(input)).toEqual({
      ok: false,
      code: 'invalid_dns_name',
      message: expect.stringMatching(/ is not a valid DNS name: /),
    }),
  );

  it('accepts a name of 253 characters below a leading dot', () => {
    const name = `${'x.'.repeat(125)}com`;
    expect(name).toHaveLength(253);
    expect(parseMonitoredName(`.${name}.`)).toEqual({ ok: true, name: `.${name}` });
  });
});

describe('quoting input', () => {
  it('escapes what is invisible, cuts what is long, and never repeats a value that is no string', () => {
    expect(quoteInput('a\n\u200b"\\b')).toBe('"a\\u{a}\\u{200b}\\u{22}\\u{5c}b"');
    expect(quoteInput('ü ok')).toBe('"ü ok"');
    expect(quoteInput('x'.repeat(81))).toBe(`"${'x'.repeat(80)}…"`);
    expect(quoteInput({ secret: 1 })).toBe('a value of type object');
  });

  it.each([
    'private-key.example.com',
    '*.privatekey.example.com',
    'private_key',
    'private-key.bücher.example',
    'admin@private-key.example.com',
  ])('repeats the name %s', (name) => expect(quoteInput(name)).toBe(`"${name}"`));

  it.each([
    'BEGIN RSA PRIVATE KEY',
    '-----BEGIN-PRIVATE-KEY-----MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg',
    `AGE-SECRET-KEY-1${'Q'.repeat(58)}`,
    'PuTTY-User-Key-File-3: ssh-rsa',
    'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg.example.com',
  ])('does not repeat the private key %s', (text) => expect(quoteInput(text)).toContain('a private key'));
});
