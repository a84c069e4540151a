import { addressText, bytesOf } from './ip-address';
import { specialNetworks, specialPurposeOf } from './special-purpose';

/** The address before or after, in the same family. */
function neighbour(address: string, step: 1 | -1): string | null {
  const bytes = [...(bytesOf(address) ?? [])];
  for (let at = bytes.length - 1; at >= 0; at -= 1) {
    const next = (bytes[at] ?? 0) + step;
    bytes[at] = (next + 256) % 256;
    if (next >= 0 && next <= 255) return addressText(bytes);
  }
  return null;
}

describe('special-purpose addresses', () => {
  it.each(specialNetworks)('$text is special from $first to $last', ({ first, last }) => {
    expect(specialPurposeOf(first)).not.toBeNull();
    expect(specialPurposeOf(last)).not.toBeNull();
  });

  it.each([
    ['0.0.0.0/8', null, '1.0.0.0'],
    ['10.0.0.0/8', '9.255.255.255', '11.0.0.0'],
    ['100.64.0.0/10', '100.63.255.255', '100.128.0.0'],
    ['127.0.0.0/8', '126.255.255.255', '128.0.0.0'],
    ['168.63.129.16/32', '168.63.129.15', '168.63.129.17'],
    ['169.254.0.0/16', '169.253.255.255', '169.255.0.0'],
    ['172.16.0.0/12', '172.15.255.255', '172.32.0.0'],
    ['192.0.0.0/24', '191.255.255.255', '192.0.1.0'],
    ['192.0.2.0/24', '192.0.1.255', '192.0.3.0'],
    ['192.31.196.0/24', '192.31.195.255', '192.31.197.0'],
    ['192.52.193.0/24', '192.52.192.255', '192.52.194.0'],
    ['192.88.99.0/24', '192.88.98.255', '192.88.100.0'],
    ['192.168.0.0/16', '192.167.255.255', '192.169.0.0'],
    ['192.175.48.0/24', '192.175.47.255', '192.175.49.0'],
    ['198.18.0.0/15', '198.17.255.255', '198.20.0.0'],
    ['198.51.100.0/24', '198.51.99.255', '198.51.101.0'],
    ['203.0.113.0/24', '203.0.112.255', '203.0.114.0'],
    ['224.0.0.0/4', '223.255.255.255', null],
    ['2001::/23', '2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
    ['2001:db8::/32', '2001:db7:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db9::'],
    ['2620:4f:8000::/48', '2620:4f:7fff:ffff:ffff:ffff:ffff:ffff', '2620:4f:8001::'],
    ['3fff::/20', '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:1000::'],
  ])('the neighbours of %s, %s and %s, are public', (text, before, after) => {
    const network = specialNetworks.find((each) => each.text === text);
    const [lower, upper] = [network?.first ?? '', network?.last ?? ''];
    if (before !== null) expect([neighbour(lower, -1), specialPurposeOf(before)]).toEqual([before, null]);
    if (after !== null) expect([neighbour(upper, 1), specialPurposeOf(after)]).toEqual([after, null]);
  });

  it('of IPv6 only 2000::/3 is public', () => {
    expect(specialPurposeOf('1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff')).toContain('global unicast');
    expect(specialPurposeOf('2000::')).toBeNull();
    expect(specialPurposeOf('3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff')).toBeNull();
    expect(specialPurposeOf('4000::')).toContain('global unicast');
  });

  it.each([
    ['169.254.169.254', 'link-local, 169.254.0.0/16'],
    ['::', 'unspecified, ::/128'],
    ['::1', 'loopback, ::1/128'],
    ['::2', 'IPv4-compatible, ::/96'],
    ['fd00:ec2::254', 'unique local, fc00::/7'],
    ['fe80::1', 'link-local, fe80::/10'],
    ['fec0::1', 'site-local, fec0::/10'],
    ['ff02::1', 'multicast, ff00::/8'],
    ['100::1', 'discard-only, 100::/64'],
    ['255.255.255.255', 'limited broadcast, 255.255.255.255/32'],
    ['250.1.2.3', 'reserved, 240.0.0.0/4'],
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'Teredo, 2001::/32'],
    ['64:ff9b:1::808:808', 'local-use translation to IPv4, 64:ff9b:1::/48'],
    ['::8.8.8.8', 'IPv4-compatible, ::/96'],
  ])('%s is named: %s', (address, name) => {
    expect(specialPurposeOf(address)).toBe(name);
  });

  it.each([
    ['::ffff:127.0.0.1', 'loopback, 127.0.0.0/8'],
    ['::ffff:7f00:1', 'loopback, 127.0.0.0/8'],
    ['::ffff:8.8.8.8', null],
    ['64:ff9b::169.254.169.254', 'translation to IPv4 of link-local, 169.254.0.0/16'],
    ['64:ff9b::8.8.8.8', null],
    ['2002:7f00:1::1', '6to4 of loopback, 127.0.0.0/8'],
    ['2002:a01:203:4:5:6:7:8', '6to4 of private use, 10.0.0.0/8'],
    ['2002:808:808::1', null],
  ])('an IPv4 address within an IPv6 one is checked itself: %s', (address, name) => {
    expect(specialPurposeOf(address)).toBe(name);
  });

  it.each(['', 'localhost', '127.1', '0127.0.0.1', 'fe80::1%eth0', '1.2.3.4/32', '[::1]', '1.2.3.4 '])(
    'what is no address is never public: %j',
    (text) => {
      expect(specialPurposeOf(text)).toBe('not an IP address');
    },
  );
});
