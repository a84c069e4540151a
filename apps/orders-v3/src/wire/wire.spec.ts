import { timestamp } from '@certwright/service';
import { Addresses } from './addresses';
import { entityTag, readIfMatch } from './entity-tag';
import { certificateExpansion, orderExpansion } from './expansion';

describe('expand', () => {
  const nothing = { csr: false, currentCert: null, issuance: false, installations: false };

  it('is repeatable', () => {
    expect(orderExpansion(['csr', 'issuance', 'installations'])).toEqual({
      ...nothing,
      csr: true,
      issuance: true,
      installations: true,
    });
  });

  it('yields the parent of a nested name with its base fields too', () => {
    const currentCert = { leaf: true, chain: false, root: false };
    expect(orderExpansion('current_cert.leaf')).toEqual({ ...nothing, currentCert });
  });

  it.each([
    undefined,
    '',
    'nothing',
    '__proto__',
    ['constructor', 'current_cert.__proto__'],
    'csr,issuance',
    {},
  ])('ignores %j', (expand) => expect(orderExpansion(expand)).toEqual(nothing));

  it('names members of a certificate without a prefix there', () => {
    expect(certificateExpansion(['leaf', 'root', 'current_cert.chain'])).toEqual({
      leaf: true,
      chain: false,
      root: true,
    });
  });
});

describe('If-Match', () => {
  it.each<[string | undefined, boolean]>([
    [undefined, true],
    ['*', true],
    ['"3"', true],
    ['"2", "3"', true],
    [' "2" ,, "3" ', true],
    ['"2"', false],
    ['W/"3"', false],
    ['"03"', false],
    ['"a,b"', false],
  ])('%s matches revision 3: %s', (header, matches) => {
    expect(readIfMatch(header)(entityTag(3))).toBe(matches);
  });

  it.each(['', '3', '"3', "'3'", '*, "3"', 'W/3', ','])('is refused as %j', (header) => {
    expect(() => readIfMatch(header)).toThrow(
      expect.objectContaining({ code: 'invalid_value', field: 'If-Match' }),
    );
  });
});

it('writes times as RFC 3339 in UTC without fractions', () => {
  expect(timestamp(new Date(1_795_132_800_999))).toBe('2026-11-20T00:00:00Z');
});

it('puts the path of the public URL in front of every path', () => {
  const addresses = new Addresses({ PUBLIC_URL: 'https://example.com/certs' });
  expect(addresses.order('*.a/b')).toBe('/certs/api/v3/orders/*.a%2Fb');
  expect(addresses.download('t')).toBe('https://example.com/certs/download/t');
});
