import { networkOf } from './connections';

it.each([
  ['192.0.2.77', '192.0.2.77'],
  ['::ffff:192.0.2.77', '192.0.2.77'],
  ['2001:db8:1:2345:aaaa::7', '2001:db8:1:2345'],
  ['2001:db8::7', '2001:db8:0:0'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['', ''],
])('connections of %j count as of %j', (address, network) => expect(networkOf(address)).toBe(network));
