import { MonitoredDomainIndex } from './index';

/** An index with one account; `!` before a name: not enabled. */
function indexOf(domains: readonly string[]): MonitoredDomainIndex {
  const index = new MonitoredDomainIndex();
  for (const domain of domains) index.set('1', domain.replace('!', ''), !domain.startsWith('!'));
  return index;
}

/** Deciding monitored domains for one name; `*`: reached by an asterisk, `?`: an odd name. */
function decidedBy(domains: string, dnsName: string): string {
  const { accounts, isComplete } = indexOf(domains.split(' ')).match([dnsName]);
  expect(isComplete).toBe(true);
  return accounts
    .flatMap(({ names }) => names)
    .map((name) => {
      expect(name.dnsName).toBe(dnsName);
      return `${name.isOddName ? '?' : ''}${name.isWildcard ? '*' : ''}${name.monitoredDomain}`;
    })
    .join(' ');
}

const long = 'l'.repeat(64);
const deep = `${'d'.repeat(60)}.`.repeat(5);

describe.each<[string, [domains: string, dnsName: string, decidedBy: string][]]>([
  [
    'a name concerns its own monitored domain and the trees that contain it',
    [
      ['www.example.com', 'www.example.com', 'www.example.com'],
      ['.example.com', 'www.example.com', '.example.com'],
      ['.www.example.com', 'www.example.com', '.www.example.com'],
      ['.example.com', 'example.com', '.example.com'],
      ['.example.com', 'a.b.c.d.example.com', '.example.com'],
      ['example.com', 'www.example.com', ''],
      ['www.example.com', 'example.com', ''],
      ['.www.example.com', 'example.com', ''],
      ['.example.com', 'notexample.com', ''],
      ['.example.com', 'example.com.evil.net', ''],
      ['.example.com', 'com', ''],
      ['_a.example.com', '_a.example.com', '_a.example.com'],
      ['xn--bcher-kva.com', 'xn--bcher-kva.com', 'xn--bcher-kva.com'],
    ],
  ],
  [
    'the most specific monitored domain decides',
    [
      ['www.example.com .www.example.com .example.com', 'www.example.com', 'www.example.com'],
      ['.www.example.com .example.com', 'www.example.com', '.www.example.com'],
      ['.www.example.com .example.com', 'a.www.example.com', '.www.example.com'],
      ['!www.example.com .www.example.com .example.com', 'www.example.com', ''],
      ['!.www.example.com .example.com', 'www.example.com', ''],
      ['!.www.example.com .example.com', 'a.www.example.com', ''],
      ['!.www.example.com .example.com', 'mail.example.com', '.example.com'],
      ['!.www.example.com www.example.com', 'www.example.com', 'www.example.com'],
      ['!.example.com www.example.com', 'www.example.com', 'www.example.com'],
      ['!www.example.com .www.example.com', 'a.www.example.com', '.www.example.com'],
    ],
  ],
  [
    'a wildcard concerns the tree that contains its children',
    [
      ['.example.com', '*.example.com', '.example.com'],
      ['.example.com', '*.a.b.example.com', '.example.com'],
      ['.a.example.com .example.com', '*.a.example.com', '.a.example.com'],
      ['!.a.example.com .example.com', '*.a.example.com', ''],
      ['!www.example.com .example.com', '*.example.com', '.example.com'],
    ],
  ],
  [
    'a wildcard concerns the monitored children',
    [
      ['www.example.com', '*.example.com', '*www.example.com'],
      ['.www.example.com', '*.example.com', '*.www.example.com'],
      ['!www.example.com', '*.example.com', ''],
      ['!.www.example.com', '*.example.com', ''],
      ['!www.example.com .www.example.com', '*.example.com', ''],
      ['www.example.com !.www.example.com', '*.example.com', '*www.example.com'],
      ['!.example.com www.example.com', '*.example.com', '*www.example.com'],
      [
        '.example.com mail.example.com .www.example.com',
        '*.example.com',
        '.example.com *.www.example.com *mail.example.com',
      ],
      ['example.com', '*.com', '*example.com'],
      ['.example.com', '*.com', '*.example.com'],
    ],
  ],
  [
    'a wildcard concerns neither its parent nor names two levels below it',
    [
      ['example.com', '*.example.com', ''],
      ['a.www.example.com', '*.example.com', ''],
      ['.a.www.example.com', '*.example.com', ''],
      ['www.example.com', '*.com', ''],
      ['www.example.com', '*.www.example.com', ''],
      ['www.example.net', '*.example.com', ''],
    ],
  ],
  [
    'an asterisk elsewhere matches any label or a part of one',
    [
      ['www.example.com', 'w*.example.com', '*www.example.com'],
      ['www.example.com', 'www*.example.com', '*www.example.com'],
      ['www.example.com', '*w.example.com', '*www.example.com'],
      ['www.example.com', 'w*w.example.com', '*www.example.com'],
      ['www.example.com', '*w*w*.example.com', '*www.example.com'],
      ['w.example.com', 'w*w.example.com', ''],
      ['mail.example.com', 'w*.example.com', ''],
      ['abcabd.example.com', 'a*bd.example.com', '*abcabd.example.com'],
      ['.www.example.com', 'w*.example.com', '*.www.example.com'],
      ['.example.com', 'w*.example.com', '.example.com'],
      ['a.www.example.com', 'a.*.example.com', '*a.www.example.com'],
      ['.www.example.com', 'a.*.example.com', '*.www.example.com'],
      ['!.www.example.com .example.com', 'a.*.example.com', '.example.com'],
      ['b.www.example.com', 'a.*.example.com', ''],
      ['www.example.com', 'a.*.example.com', ''],
      ['a.b.example.com', '*.*.example.com', '*a.b.example.com'],
      ['.b.example.com', '*.*.example.com', '*.b.example.com'],
      ['a.example.com', '*.*.example.com', ''],
      ['example.com', 'example.*', '*example.com'],
      ['.example.com', '*.*', '*.example.com'],
      ['example.com', '*example.com', '*example.com'],
      ['.example.com', 'www.*example.com', '*.example.com'],
    ],
  ],
  [
    'a text that is not a name counts as names at or below its runs of labels',
    [
      ['b.example.com', 'a b.example.com', '?b.example.com'],
      ['.b.example.com', 'a b.example.com', '?.b.example.com'],
      ['.example.com', 'a b.example.com', '?.example.com'],
      ['x.b.example.com', 'a b.example.com', '?x.b.example.com'],
      ['.x.y.b.example.com', 'a b.example.com', '?.x.y.b.example.com'],
      ['example.com', 'a b.example.com', ''],
      ['x.example.com', 'a b.example.com', ''],
      ['!b.example.com .b.example.com', 'a b.example.com', '?.b.example.com'],
      ['!b.example.com', 'a b.example.com', ''],
      ['!.b.example.com .example.com', 'a b.example.com', ''],
      ['!x.b.example.com .example.com', 'a b.example.com', '?.example.com'],
      ['.example.com .example.net', 'a.example.net,b.example.com', '?.example.com ?.example.net'],
      ['.example.com', 'www.example.com\x07.', '?.example.com'],
      ['.example.com', 'dns:www.example.com', '?.example.com'],
      ['.example.com', 'http://www.example.com/', '?.example.com'],
      ['.example.com', 'www.example.com:443', '?.example.com'],
      ['.example.com', '?.example.com', '?.example.com'],
      ['www.example.com', '*.?.example.com', '?www.example.com'],
      ['www.example.com', '<unparsable>.example.com', '?www.example.com'],
      ['.example.com', 'example.com.', '?.example.com'],
      ['.example.com', 'a..example.com', '?.example.com'],
      ['example.com', 'a..example.com', '?example.com'],
      ['example.com', `${long}.example.com`, '?example.com'],
      ['example.com', `www.${long}.example.com`, '?example.com'],
      ['.example.com', '.example.com', '?.example.com'],
      ['.example.com', 'user@example.com', '?.example.com'],
      ['.example.com', `${long}.example.com`, '?.example.com'],
      ['.example.com', `www.example.com.${long}`, '?.example.com'],
      ['.example.com', `${deep}example.com`, '?.example.com'],
      ['www.example.com', 'a *.example.com', '?*www.example.com'],
      ['a.www.example.com', 'a *.example.com', '?*a.www.example.com'],
      ['www.example.com', 'a *.example.com www.example.com', '?www.example.com'],
      ['example.com', 'a *.com', '?*example.com'],
      // Neither has two labels under a public suffix.
      ['.example.com', 'a com', ''],
      ['.example.com', 'example com', ''],
      ['.example.co.uk', 'a co.uk', ''],
      ['.example.github.io', 'a.github.io@github.io', ''],
      ['.example.com', 'exa\u0301mple.com', ''],
      // The Kelvin sign is no letter of ASCII.
      ['.kelvin.com', '\u212aelvin.com', ''],
      ['.example.com', '', ''],
      ['.example.com', '*', ''],
    ],
  ],
])('%s', (_rule, cases) => {
  it.each(cases)('%s: %j is decided by %j', (domains, dnsName, expected) => {
    expect(decidedBy(domains, dnsName)).toBe(expected);
  });
});

it('reads names in upper case', () => {
  expect(indexOf(['www.example.com']).match(['WWW.Example.COM'])).toEqual({
    accounts: [
      {
        account: '1',
        names: [
          {
            dnsName: 'www.example.com',
            monitoredDomain: 'www.example.com',
            isWildcard: false,
            isOddName: false,
          },
        ],
        isComplete: true,
      },
    ],
    isComplete: true,
  });
});
