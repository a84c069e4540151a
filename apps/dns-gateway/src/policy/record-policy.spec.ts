import type { RequestedRecord } from './record-policy';
import { readCaaIssuers, recordRules } from './record-rules';
import {
  accountUri,
  decideRecord,
  digest,
  rules,
  underscoredNames,
  verdict,
  wants,
  zone,
  zones,
} from './testing/rules';

const target = 'k3jd8.approval.example.net';
const label63 = 'a'.repeat(63);
type Row = readonly [rule: string, wanted: Partial<RequestedRecord>, verdict: string];

describe('add_record first checks that the record relates to certificate issuance', () => {
  const literal: readonly Row[] = [
    ['a coexisting TXT is allowed', {}, `add _acme-challenge.www.example.com TXT ${digest} in example.com`],
    [
      'a coexisting CAA is allowed',
      { fqdn: 'www.example.com', type: 'CAA', value: '0 issue "plain-ca.example"' },
      'add www.example.com CAA 0 issue "plain-ca.example" in example.com',
    ],
    [
      'a coexisting CNAME is refused',
      { type: 'CNAME', value: target, replace: false },
      'policy_violation record.replace',
    ],
    [
      'a coexisting NS is refused',
      { type: 'NS', value: target, replace: false },
      'policy_violation record.replace',
    ],
    [
      'a replacing TXT is allowed at _acme-challenge',
      { replace: true },
      `replace _acme-challenge.www.example.com TXT ${digest} in example.com`,
    ],
    [
      'a replacing CAA is allowed at _acme-challenge',
      { type: 'CAA', value: '0 issue "plain-ca.example"', replace: true },
      'replace _acme-challenge.www.example.com CAA 0 issue "plain-ca.example" in example.com',
    ],
    [
      'a CNAME replaces by default',
      { type: 'CNAME', value: target },
      `replace _acme-challenge.www.example.com CNAME ${target} in example.com`,
    ],
    [
      'an NS replaces by default',
      { type: 'NS', value: target },
      `replace _acme-challenge.www.example.com NS ${target} in example.com`,
    ],
    [
      'a replacing record is allowed at an unregistered underscored label',
      { fqdn: '_k2f9.example.com', type: 'CNAME', value: target },
      `replace _k2f9.example.com CNAME ${target} in example.com`,
    ],
    [
      'a coexisting TXT is allowed at an unregistered underscored label',
      { fqdn: '_dnsauth.example.com', value: 'abcdefghij0123456789' },
      'add _dnsauth.example.com TXT abcdefghij0123456789 in example.com',
    ],
    [
      'a replacing TXT without underscore is refused',
      { fqdn: 'www.example.com', replace: true },
      'policy_violation record.fqdn',
    ],
    [
      'a replacing CNAME without underscore is refused',
      { fqdn: 'www.example.com', type: 'CNAME', value: target },
      'policy_violation record.fqdn',
    ],
    [
      'a replacing record is refused where only a later label has an underscore',
      { fqdn: 'x._acme-challenge.example.com', replace: true },
      'policy_violation record.fqdn',
    ],
    [
      'a replacing record is refused at a registered name',
      { fqdn: '_dmarc.example.com', replace: true },
      'policy_violation record.fqdn',
    ],
    [
      'the registry counts whatever the type of record',
      { fqdn: '_openpgpkey.example.com', type: 'CNAME', value: target },
      'policy_violation record.fqdn',
    ],
    [
      'a prefix of the registry counts',
      { fqdn: '_ta-4a5c.example.com', type: 'CNAME', value: target },
      'policy_violation record.fqdn',
    ],
    [
      'the registry is compared whatever the case',
      { fqdn: '_DMARC.example.com', type: 'CNAME', value: target },
      'policy_violation record.fqdn',
    ],
    [
      '_acme-challenge is compared whatever the case',
      { fqdn: '_ACME-Challenge.WWW.Example.COM.' },
      `add _acme-challenge.www.example.com TXT ${digest} in example.com`,
    ],
    ['a record of type A is refused', { type: 'A', value: '192.0.2.1' }, 'policy_violation record.type'],
    ['a record of type TLSA is refused', { type: 'TLSA' }, 'policy_violation record.type'],
    ['a type in lower case is not guessed', { type: 'txt' }, 'policy_violation record.type'],
  ];
  it.each(literal)('%s', (_, wanted, expected) => expect(verdict(wanted)).toBe(expected));
});

describe('the canonical name', () => {
  const names: readonly (readonly [rule: string, fqdn: string, expected: string])[] = [
    ['one dot at the end is the root', '_acme-challenge.a.example.com.', 'add'],
    [
      'two dots at the end are an empty label',
      '_acme-challenge.a.example.com..',
      'invalid_value record.fqdn',
    ],
    ['a dot at the start is an empty label', '._acme-challenge.example.com', 'invalid_value record.fqdn'],
    ['an empty label in the middle', '_acme-challenge..example.com', 'invalid_value record.fqdn'],
    ['nothing', '', 'invalid_value record.fqdn'],
    ['the root', '.', 'invalid_value record.fqdn'],
    ['a decimal escape', '_acme-challenge\\046example.com', 'invalid_value record.fqdn'],
    ['an escaped dot', '_acme-challenge\\.example.com', 'invalid_value record.fqdn'],
    ['a fullwidth letter', '_acme-challenge.ｅxample.com', 'invalid_value record.fqdn'],
    ['a fullwidth low line', '＿acme-challenge.example.com', 'invalid_value record.fqdn'],
    ['a fullwidth full stop', '_acme-challenge．example.com', 'invalid_value record.fqdn'],
    ['an ideographic full stop', '_acme-challenge。example.com', 'invalid_value record.fqdn'],
    ['a zero-width space', '_acme-chal\u200blenge.example.com', 'invalid_value record.fqdn'],
    ['a soft hyphen', '_acme\u00ad-challenge.example.com', 'invalid_value record.fqdn'],
    ['a Kelvin sign, which folds to k', '_\u212afoo.example.com', 'invalid_value record.fqdn'],
    ['a U-label', '_acme-challenge.bücher.example.com', 'invalid_value record.fqdn'],
    ['its A-label', '_acme-challenge.xn--bcher-kva.example.com', 'add'],
    ['an A-label that is none', '_acme-challenge.xn--a.example.com', 'invalid_value record.fqdn'],
    ['an asterisk', '*.example.com', 'invalid_value record.fqdn'],
    ['an asterisk below _acme-challenge', '_acme-challenge.*.example.com', 'invalid_value record.fqdn'],
    ['a label of 63 bytes', `_acme-challenge.${label63}.example.com`, 'add'],
    ['a label of 64 bytes', `_acme-challenge.${label63}a.example.com`, 'invalid_value record.fqdn'],
    ['a name of 253 bytes', `_acme-challenge.${'a.'.repeat(113)}example.com`, 'add'],
    [
      'a name of 254 bytes',
      `_acme-challenge.${'a.'.repeat(112)}aaa.example.com`,
      'invalid_value record.fqdn',
    ],
    ['an underscore inside a label', '_acme-challenge.a_b.example.com', 'invalid_value record.fqdn'],
    ['two underscores', '__acme-challenge.example.com', 'invalid_value record.fqdn'],
    ['a bare underscore', '_.example.com', 'invalid_value record.fqdn'],
    ['a blank', '_acme-challenge. example.com', 'invalid_value record.fqdn'],
    ['a tab at the end', '_acme-challenge.example.com\t', 'invalid_value record.fqdn'],
    ['a NUL', '_acme-challenge.example.com\0.evil.test', 'invalid_value record.fqdn'],
    ['a slash', '_acme-challenge/x.example.com', 'invalid_value record.fqdn'],
    ['a hyphen at the end of a label', '_acme-challenge-.example.com', 'invalid_value record.fqdn'],
  ];
  it.each(names)('%s: %j', (_, fqdn, expected) => expect(verdict({ fqdn }).split(' _')[0]).toBe(expected));

  it('is reported without invisible characters when malformed', () => {
    const decision = decideRecord(wants({ fqdn: '_acme\u202e.example.com' }), zones, rules);
    expect(decision).toMatchObject({
      allowed: false,
      message: expect.stringContaining('\\u{202e}') as string,
    });
  });
});

describe('the zone', () => {
  const placed: readonly (readonly [
    rule: string,
    fqdn: string,
    ofIntegration: readonly string[],
    expected: string,
  ])[] = [
    [
      'the longest wins',
      '_acme-challenge.deep.example.com',
      ['example.com', 'deep.example.com'],
      'in deep.example.com',
    ],
    [
      'whatever their order',
      '_acme-challenge.deep.example.com',
      ['deep.example.com', 'example.com'],
      'in deep.example.com',
    ],
    [
      'one of another name does not count',
      '_acme-challenge.example.net',
      ['example.com'],
      'zone_not_found record.fqdn',
    ],
    ['none', '_acme-challenge.example.com', [], 'zone_not_found record.fqdn'],
    ['labels are whole', '_acme-challenge.evilexample.com', ['example.com'], 'zone_not_found record.fqdn'],
    [
      'a zone below the name does not count',
      '_acme-challenge.example.com',
      ['www.example.com'],
      'zone_not_found record.fqdn',
    ],
    [
      'never the apex',
      '_acme-challenge.example.com',
      ['example.com', '_acme-challenge.example.com'],
      'policy_violation record.fqdn',
    ],
    ['a top-level domain is no zone', '_acme-challenge.example.com', ['com'], 'zone_not_found record.fqdn'],
    ['a public suffix is no zone', '_acme-challenge.shop.co.uk', ['co.uk'], 'zone_not_found record.fqdn'],
    [
      'a private public suffix is no zone',
      '_acme-challenge.someone.github.io',
      ['github.io'],
      'zone_not_found record.fqdn',
    ],
    [
      'the parent of public suffixes is no zone',
      '_acme-challenge.a.city1.kobe.jp',
      ['kobe.jp'],
      'zone_not_found record.fqdn',
    ],
    ['the root is no zone', '_acme-challenge.example.com', ['.', ''], 'zone_not_found record.fqdn'],
    [
      'a malformed zone is passed over',
      '_acme-challenge.example.com',
      ['*.com', 'exa mple.com', '0/25.2.0.192.in-addr.arpa', 'example.com'],
      'in example.com',
    ],
    [
      'case and dot of a zone do not count',
      '_acme-challenge.example.com',
      ['Example.COM.'],
      'in example.com',
    ],
    [
      'a zone of a private network counts',
      '_acme-challenge.db.corp.internal',
      ['corp.internal'],
      'in corp.internal',
    ],
  ];
  it.each(placed)('%s', (_, fqdn, ofIntegration, expected) =>
    expect(verdict({ fqdn }, {}, ofIntegration.map(zone))).toContain(expected),
  );

  it('is the provider’s, with its id', () => {
    expect(decideRecord(wants(), zones, rules)).toMatchObject({ zone: { id: 'id of example.com' } });
  });
});

describe('the TTL', () => {
  it.each([30, 60, 3_600])('may be %d seconds', (ttl) => expect(verdict({ ttl })).toMatch(/^add/));
  it.each([29, 3_601, 0, -60, 60.5, NaN, Infinity])('may not be %d', (ttl) =>
    expect(verdict({ ttl })).toBe('out_of_range record.ttl'),
  );
  it('is passed on, and null when omitted', () => {
    expect(decideRecord(wants({ ttl: 300 }), zones, rules)).toMatchObject({ record: { ttlS: 300 } });
    expect(decideRecord(wants(), zones, rules)).toMatchObject({ record: { ttlS: null } });
  });
});

describe('the value', () => {
  const open = { valuePolicy: false };
  const persist = { fqdn: '_validation-persist.example.com' };
  const caa = { fqdn: 'www.example.com', type: 'CAA' } as const;
  const allowed: readonly Row[] = [
    ['TXT at _acme-challenge: 43 base64url characters', {}, digest],
    ['TXT at a label of dns-account-01', { fqdn: '_ujmmovf2vn55tgye._acme-challenge.example.com' }, digest],
    [
      'TXT at a name without underscore: 43 characters, as acme-dns takes them',
      { fqdn: '8e57.deep.example.com' },
      digest,
    ],
    [
      'TXT at another label: a padded token',
      { fqdn: '_ca1.example.com', value: 'QUJDREVGR0hJSktMTU5PUA==' },
      '==',
    ],
    [
      'CAA in its one spelling',
      { ...caa, value: '128   IssueWild   " Plain-CA.example ;"' },
      '128 issuewild "plain-ca.example"',
    ],
    [
      'CAA with account and methods',
      { ...caa, value: `0 issue "ca.example;accounturi=${accountUri}; validationmethods=dns-01,http-01"` },
      `0 issue "ca.example; accounturi=${accountUri}; validationmethods=dns-01,http-01" in`,
    ],
    ['a persistent approval', { ...persist, value: `ca.example; accounturi=${accountUri}` }, 'add'],
    [
      'a persistent approval with policy and end',
      { ...persist, value: `ca.example; accounturi=${accountUri}; policy=wildcard; persistUntil=1900000000` },
      'add',
    ],
    [
      'a target in the approval zone, whatever its case',
      { type: 'CNAME', value: 'K3JD8.Approval.Example.NET.' },
      `CNAME ${target} in`,
    ],
    [
      'a target several labels below',
      { type: 'NS', value: 'ns1.a.approval.example.net' },
      'NS ns1.a.approval.example.net in',
    ],
  ];
  it.each(allowed)('%s', (_, wanted, expected) => expect(verdict(wanted)).toContain(expected));

  const malformed: readonly Row[] = [
    ['empty', { value: '' }, ''],
    ['not ASCII', { value: 'ä'.repeat(43) }, ''],
    ['a line feed', { value: `${digest}\n` }, ''],
    ['longer than 512 bytes', { value: 'a'.repeat(513) }, ''],
    ['a target with an escape', { type: 'CNAME', value: 'a\\.approval.example.net' }, ''],
    ['a target with an asterisk', { type: 'CNAME', value: '*.approval.example.net' }, ''],
    ['CAA flags of 1', { ...caa, value: '1 issue "ca.example"' }, ''],
    ['CAA flags of 256', { ...caa, value: '256 issue "ca.example"' }, ''],
    ['CAA flags with leading zeros', { ...caa, value: '000 issue "ca.example"' }, ''],
    ['CAA with the tag iodef', { ...caa, value: '0 iodef "mailto:x@evil.test"' }, ''],
    ['CAA without quotes', { ...caa, value: '0 issue ca.example' }, ''],
    ['CAA with an escaped quote', { ...caa, value: '0 issue "ca.example\\""' }, ''],
    [
      'CAA with a parameter twice',
      { ...caa, value: `0 issue "ca.example; accounturi=${accountUri}; AccountURI=x"` },
      '',
    ],
    ['CAA with a parameter without value', { ...caa, value: '0 issue "plain-ca.example; x"' }, ''],
    ['CAA with two issuers', { ...caa, value: '0 issue "plain-ca.example evil.test"' }, ''],
  ];
  it.each(malformed)('that is %s is invalid with the value policy and without', (_, wanted) => {
    expect(verdict(wanted)).toBe('invalid_value record.value');
    expect(verdict(wanted, open)).toBe('invalid_value record.value');
  });

  it('of 512 bytes is allowed when the value policy is off', () => {
    expect(verdict({ value: 'v=spf1 -all '.padEnd(512, '"\\;') }, open)).toMatch(/^add/);
  });

  it('is subject to the rule on types and names even without the value policy', () => {
    expect(verdict({ fqdn: '_dmarc.example.com', replace: true }, open)).toBe('policy_violation record.fqdn');
    expect(verdict({ type: 'CNAME', value: target, replace: false }, open)).toBe(
      'policy_violation record.replace',
    );
  });

  it('cannot point to its own name even without the value policy', () => {
    for (const type of ['CNAME', 'NS'])
      expect(verdict({ type, value: '_acme-challenge.WWW.example.com.' }, open)).toBe(
        'policy_violation record.value',
      );
  });
});

describe('rules set by an operator', () => {
  it('refuse CAA, persistent approvals and every target until CAs and zones are configured', () => {
    const bare = recordRules({ underscoredNames });
    expect(bare.valuePolicy).toBe(true);
    expect(verdict({ type: 'CNAME', value: target }, bare)).toBe('policy_violation record.value');
    expect(verdict({ fqdn: 'www.example.com', type: 'CAA', value: '0 issue "plain-ca.example"' }, bare)).toBe(
      'policy_violation record.value',
    );
  });

  it('may restrict underscored labels to a list', () => {
    const { ownLabels } = recordRules({ underscoredNames, ownLabels: ['_DNSAuth'] });
    const token = 'abcdefghij0123456789';
    expect(verdict({ fqdn: '_dnsauth.example.com', value: token }, { ownLabels })).toMatch(/^add/);
    expect(verdict({ fqdn: '_other.example.com', value: token }, { ownLabels })).toBe(
      'policy_violation record.fqdn',
    );
    expect(verdict({}, { ownLabels })).toMatch(/^add/);
  });

  it('may require a prefix of tokens', () => {
    const txtShapes = { ...rules.txtShapes, tokenPrefixes: ['ca-check='] };
    const wanted = { fqdn: '_ca1.example.com', value: 'ca-check=abcdefghij0123456789' };
    expect(verdict(wanted)).toBe('policy_violation record.value');
    expect(verdict(wanted, { txtShapes })).toMatch(/^add/);
  });

  it.each([
    ['an approval zone that is a public suffix', { approvalZones: ['co.uk'] }, /approvalZones/],
    ['an approval zone of one label', { approvalZones: ['net'] }, /approvalZones/],
    ['an approval zone that is no name', { approvalZones: ['*.example.net'] }, /approvalZones/],
    [
      'tokens of a few characters',
      { txtShapes: { ...rules.txtShapes, tokenLength: { min: 4, max: 128 } } },
      /tokenLength/,
    ],
    [
      'bare texts of a few characters',
      { txtShapes: { ...rules.txtShapes, bareLengths: [8] } },
      /bareLengths/,
    ],
    ['an own label without underscore', { ownLabels: ['www'] }, /ownLabels/],
  ])('are refused with %s', (_, wanted, reason) => {
    expect(() => recordRules({ underscoredNames, ...wanted })).toThrow(reason);
  });

  it('name CAs in CAA syntax, with one entry per account', () => {
    expect(readCaaIssuers(['CA.example; accounturi=u:1', 'ca.example;accounturi=u:2', 'b.example'])).toEqual([
      { issuer: 'ca.example', accountUris: ['u:1', 'u:2'] },
      { issuer: 'b.example', accountUris: [] },
    ]);
  });

  it.each(['', ';', 'ca.example; policy=wildcard', 'ca.example; accounturi=', 'not a domain'])(
    'name no CA as %j',
    (entry) => expect(() => readCaaIssuers([entry])).toThrow('is not an issuer'),
  );
});
