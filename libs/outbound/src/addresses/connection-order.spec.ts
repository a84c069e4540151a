import { connectionOrder, networkOf } from './connection-order';

it('orders every address in its shortest form, once, alternating between families, IPv6 first', () => {
  const four = Array.from({ length: 25 }, (_, at) => `8.8.8.${at + 1}`);
  const addresses = ['2606::1', ...four, '10.0.0.7', '2606:0:0::1', '::ffff:8.8.8.1', '2606::2'];
  expect(connectionOrder(addresses)).toEqual(['2606::1', '8.8.8.1', '2606::2', ...four.slice(1), '10.0.0.7']);
});

it.each([
  ['192.0.2.77', '192.0.2.0/24'],
  ['::ffff:192.0.2.77', '192.0.2.0/24'],
  ['2001:db8:1:2::3', '2001:db8:1::/48'],
  ['::1', '::/48'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
