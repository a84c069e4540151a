import { refused } from '../testing/desired';
import { fieldsIn, readArguments } from '../wire/arguments';
import { TestQuery } from './test-installation.use-case';
import { hostsOf, maxRequestedHosts, serverNameFor } from './tested-hosts';

const readHosts = (hostname: unknown) => readArguments(TestQuery, fieldsIn({ hostname })).hostname ?? null;

describe('the hosts that a caller names', () => {
  it('are names and addresses in normal form, each once and in their order', () => {
    expect(readHosts('WWW.Example.com.')).toEqual(['www.example.com']);
    expect(readHosts(['b.example.com', '192.0.2.1', 'a.example.com', 'B.example.com'])).toEqual([
      'b.example.com',
      '192.0.2.1',
      'a.example.com',
    ]);
    expect(readHosts(['[2001:DB8:0:0::1]', '2001:db8::1', 'bücher.example.com'])).toEqual([
      '2001:db8::1',
      'xn--bcher-kva.example.com',
    ]);
  });

  it('are none when nothing is named', () => {
    for (const nothing of [undefined, '', [], ['', '']]) expect(readHosts(nothing)).toBeNull();
  });

  it.each<[string, unknown]>([
    ['a wildcard', '*.example.com'],
    ['a name of the inside', 'redis'],
    ['this machine', 'localhost'],
    ['a name that only some machines know', 'metadata.google.internal'],
    ['a public suffix', 'co.uk'],
    ['an address in another spelling', '0x7f.1'],
    ['an address as a number', '2130706433'],
    ['half an address', '127.1'],
    ['an IPv4 address in brackets', '[192.0.2.1]'],
    ['an address of one machine', 'fe80::1%eth0'],
    ['an address of one machine in brackets', '[fe80::1%25eth0]'],
    ['an open bracket', '[::1'],
    ['a port', 'www.example.com:443'],
    ['a URL', 'https://www.example.com/'],
    ['a mailbox', 'root@example.com'],
    ['white space', 'www.example.com '],
    ['half a surrogate pair', '\ud800.example.com'],
    ['a long text', `${'a'.repeat(5_000)}.example.com`],
    ['an object', { a: 'www.example.com' }],
    ['one bad name among good ones', ['www.example.com', 'localhost']],
    ['a list in a list', [['www.example.com']]],
  ])('are refused: %s', (_what, hostname) => {
    const { reason, param, message } = refused(() => readHosts(hostname));
    expect([reason, param]).toEqual(['bad_param', 'hostname']);
    expect(message.length).toBeLessThan(300);
  });

  it(`are at most ${maxRequestedHosts}`, () => {
    const many = Array.from({ length: maxRequestedHosts + 1 }, (_, at) => `h${at}.example.com`);
    expect(readHosts([...many.slice(1), 'H1.example.com'])).toHaveLength(maxRequestedHosts);
    expect(refused(() => readHosts(many))).toMatchObject({ reason: 'bad_param', param: 'hostname' });
  });
});

it('the hosts of a certificate are its names without wildcards, and without what no server has the name of', () => {
  expect(hostsOf(['*.example.com', 'example.com', 'a.example.com', 'example.com', 'intranet'])).toEqual([
    'example.com',
    'a.example.com',
  ]);
});

describe('the server name for a test by address', () => {
  it.each([
    ['the common name', 'a.example.com', ['a.example.com', 'b.example.com'], 'a.example.com'],
    ['another name beside a wildcard', '*.example.com', ['*.example.com', 'example.com'], 'example.com'],
    ['a name under the wildcard', '*.example.com', ['*.example.com'], 'www.example.com'],
  ])('is %s', (_what, cn, names, serverName) => {
    expect(serverNameFor(cn, names)).toBe(serverName);
  });

  it('is the base name where there is no room under the wildcard', () => {
    const base = `${'a.'.repeat(120)}example.com`;
    expect(base).toHaveLength(251);
    expect(serverNameFor(`*.${base}`, [`*.${base}`])).toBe(base);
  });
});
