import { generateKeyPairSync } from 'node:crypto';
import { domainToASCII, domainToUnicode } from 'node:url';
import fc from 'fast-check';
import { parseDnsName, parseDnsNames, parsePublicName } from './index';

const nameOf = (input: unknown) => {
  const parsed = parseDnsName(input);
  return parsed.ok ? parsed.name : parsed.code;
};

describe('a DNS name in its normal form', () => {
  it.each([
    ['example.com', 'example.com'],
    ['EXAMPLE.Com', 'example.com'],
    ['www.example.com.', 'www.example.com'],
    ['*.Example.com', '*.example.com'],
    ['*.a.example.co.uk', '*.a.example.co.uk'],
    ['1.example.com', '1.example.com'],
    ['a--b.example.com', 'a--b.example.com'],
    ['bücher.com', 'xn--bcher-kva.com'],
    ['BÜCHER.com', 'xn--bcher-kva.com'],
    ['bu\u0308cher.com', 'xn--bcher-kva.com'],
    ['*.bücher.com', '*.xn--bcher-kva.com'],
    ['straße.de', 'xn--strae-oqa.de'],
    ['faß.de', 'xn--fa-hia.de'],
    ['XN--BCHER-KVA.com', 'xn--bcher-kva.com'],
    ['example.公司.cn', 'example.xn--55qx5d.cn'],
    ['例え.テスト.jp', 'xn--r8jz45g.xn--zckzah.jp'],
    ['a.github.io', 'a.github.io'],
    ['www.ck', 'www.ck'],
    [`${'a'.repeat(63)}.com`, `${'a'.repeat(63)}.com`],
  ])('reads %s as %s', (input, name) => expect(nameOf(input)).toBe(name));

  it('keeps a name of 253 bytes and refuses one of 254', () => {
    const longest = `${'a.'.repeat(120)}${'b'.repeat(9)}.com`;
    expect(longest).toHaveLength(253);
    expect(nameOf(longest)).toBe(longest);
    expect(nameOf(`${longest}.`)).toBe(longest);
    expect(nameOf(`b${longest}`)).toBe('invalid_dns_name');
  });
});

describe('a name that is refused as invalid', () => {
  it.each([
    [undefined],
    [null],
    [42],
    [{}],
    [['example.com']],
    [Object('example.com')],
    [''],
    ['.'],
    ['..'],
    ['example.com..'],
    ['.example.com'],
    ['a..example.com'],
    ['*.'],
    ['*'],
    ['*..example.com'],
    ['*.*.example.com'],
    ['w*.example.com'],
    ['*w.example.com'],
    ['a.*.example.com'],
    ['**.example.com'],
    ['_dmarc.example.com'],
    ['a_b.example.com'],
    ['-a.example.com'],
    ['a-.example.com'],
    ['ab--c.example.com'],
    [`${'a'.repeat(64)}.com`],
    ['exa mple.com'],
    [' example.com'],
    ['example.com\n'],
    ['example.com\0'],
    ['exam\u0000ple.com'],
    ['example\u3002com'],
    ['example\uff0ecom'],
    ['example\uff61com'],
    ['exa\u200bmple.com'],
    ['exa\u200dmple.com'],
    ['exa\u00admple.com'],
    ['exa\ufeffmple.com'],
    ['exa\u202emple.com'],
    ['exa\ud800mple.com'],
    ['ｅｘａｍｐｌｅ.com'],
    ['ⓔxample.com'],
    ['ⓑücher.com'],
    ['büｃher.com'],
    ['\u212aelvin.com'],
    ['http://example.com'],
    ['example.com:443'],
    ['user@example.com'],
    ['example.com/'],
    ['ex%61mple.com'],
    ['127.0.0.1'],
    ['127.1'],
    ['2130706433'],
    ['0x7f.1'],
    ['0x7f000001'],
    ['0177.0.0.1'],
    ['1.2.3.4.'],
    ['*.1.2.3.4'],
    ['１２７.0.0.1'],
    ['::1'],
    ['[::1]'],
    ['2001:db8::1'],
    ['::ffff:1.2.3.4'],
    ['xn--a.com'],
    ['xn--.com'],
    ['xn--abc.com'],
    ['xn--example-.com'],
    ['xn--bcher-kva-.com'],
    ['xn--99999999999.com'],
    ['xn--xn---epa.com'],
    ['xn--ab---epa.com'],
    ['xn----9fa.com'],
    ['xn----bga.com'],
    ['xn--dca.com'],
    ['xn--ab-j1t.com'],
    ['xn--a-bga4827a.com'],
    ['xn--BCHER-kvaé.com'],
    ['\u0300a.com'],
    ['אa.com'],
    ['ü'.repeat(70) + '.com'],
  ])('%j', (input) => expect(nameOf(input)).toBe('invalid_dns_name'));
});

describe('a name that is no part of a public domain', () => {
  it.each([
    'localhost',
    'foo.local',
    'foo.example',
    'foo.internal',
    'foo.test',
    'com',
    'co.uk',
    'github.io',
    'foo.ck',
    'xn--55qx5d.cn',
    '*.com',
    '*.co.uk',
    '*.github.io',
    '*.foo.ck',
    '*.local',
    'a.constructor',
    'intranet',
    'expyuzz4wqqyqhjn.onion',
    'duckduckgogg42xjoc72x3sjasowoarfbgcmvfimaftt6twagswzczad.onion',
    '*.expyuzz4wqqyqhjn.onion',
    '4.3.2.1.in-addr.arpa',
    '8.b.d.0.1.0.0.2.ip6.arpa',
    'router.home.arpa',
    'home.arpa',
    'a.resolver.arpa',
    'www.eap.arpa',
    'a.service.arpa',
    'ipv4only.arpa',
  ])('%s', (input) => expect(nameOf(input)).toBe('not_public_domain'));

  it('has its own message when it is reserved for special use', () => {
    const parsed = parseDnsName('a.home.arpa');
    expect(parsed.ok ? '' : parsed.message).toBe(
      '"a.home.arpa" cannot be certified: names under home.arpa are reserved for special use (RFC 8375).',
    );
    expect(nameOf('home.arpa.example.com')).toBe('home.arpa.example.com');
  });

  it('can be searched for when it is reserved: certificates for .onion names exist', () => {
    expect(parsePublicName('abc.onion')).toEqual({ ok: true, name: 'abc.onion' });
  });
});

describe('messages', () => {
  it('repeat nothing of a private key that was pasted into the wrong field', () => {
    const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString();
    const base64 = key.export({ type: 'pkcs8', format: 'der' }).toString('base64');
    for (const input of [pem, base64, `www.${pem}`]) {
      const parsed = parseDnsName(input);
      const message = parsed.ok ? '' : parsed.message;
      expect(message).toContain('private key');
      expect(message).not.toContain(base64.slice(20, 30));
    }
  });

  it('repeat the input bounded and without a character that a terminal obeys', () => {
    const parsed = parseDnsName(`\u001b[31m\u202e${'x'.repeat(100_000)}`);
    expect(parsed.ok).toBe(false);
    if (parsed.ok) return;
    expect(parsed.message.length).toBeLessThan(300);
    expect(parsed.message).not.toMatch(/[\u0000-\u001f\u202e]/);
    expect(parsed.message).toContain('\\u{1b}');
  });

  it('tell every entry at fault by its place, and keep the others once, in the order given', () => {
    const { names, faults } = parseDnsNames([
      'b.example.com',
      'localhost',
      'A.example.com',
      'B.example.com.',
      7,
    ]);
    expect(names).toEqual(['b.example.com', 'a.example.com']);
    expect(faults.map(({ index, code }) => [index, code])).toEqual([
      [1, 'not_public_domain'],
      [4, 'invalid_dns_name'],
    ]);
    expect(faults[0]?.input).toBe('localhost');
  });
});

describe('whatever is given', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => `${text}.com`),
    fc
      .array(fc.constantFrom('a', '-', '.', '*', 'xn--', 'ü', '\u200d', '1', '0x', '_', 'com', '.com'))
      .map((parts) => parts.join('')),
    fc
      .string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789-'), maxLength: 20 })
      .map((tail) => `xn--${tail}.com`),
  );

  it('is never thrown at, and a name read once is read again as itself', () => {
    fc.assert(
      fc.property(hostile, (input) => {
        const parsed = parseDnsName(input);
        if (!parsed.ok) return;
        expect(parsed.name).toMatch(/^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/);
        expect(parseDnsName(parsed.name)).toEqual(parsed);
        expect(domainToASCII(domainToUnicode(parsed.name.replace('*.', '')))).toBe(
          parsed.name.replace('*.', ''),
        );
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    ['bücher', 'xn--bcher-kva'],
    ['münchen', 'xn--mnchen-3ya'],
    ['españa', 'xn--espaa-rta'],
    ['россия', 'xn--h1alffa9f'],
    ['ελλάδα', 'xn--hxakic4aa'],
    ['日本語', 'xn--wgv71a119e'],
    ['한국', 'xn--3e0b707e'],
    ['ไทย', 'xn--o3cw4h'],
    ['العربية', 'xn--mgbcd4a2b0d2b'],
    ['עברית', 'xn--5dbqzzl'],
    ['naïve', 'xn--nave-6pa'],
    ['łódź', 'xn--d-uga0v4h'],
    ['ñandú', 'xn--and-6ma2c'],
  ])('agrees with the IDNA codec of another language about %s', (uLabel, aLabel) =>
    expect(nameOf(`${uLabel}.com`)).toBe(`${aLabel}.com`),
  );
});
