import { addressText, isWithin, type Bytes, bytesOf, parseNetwork } from './ip-address';

describe('addresses', () => {
  it.each([
    ['::', '::'],
    ['1::', '1::'],
    ['::1:2', '::1:2'],
    ['2001:DB8:0:0:8:800:200C:417A', '2001:db8::8:800:200c:417a'],
    ['::ffff:192.0.2.33', '::ffff:c000:221'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['255.254.253.1', '255.254.253.1'],
  ])('%s is read byte by byte and written as %s', (text, shortest) => {
    expect(addressText(bytesOf(text) as Bytes)).toBe(shortest);
  });
});

describe('networks', () => {
  it.each([
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/08',
    '::/129',
    'example.com/8',
    '10.1.2.3/8',
  ])('%s is none', (text) => {
    expect(parseNetwork(text)).toBeNull();
  });

  it.each([
    ['10.128.0.0/9', '10.128.0.0', true],
    ['10.128.0.0/9', '10.127.255.255', false],
    ['0.0.0.0/0', '255.255.255.255', true],
    ['0.0.0.0/0', '::', false],
    ['::1/128', '::1', true],
    ['::1/128', '::2', false],
    ['2001:db8::/33', '2001:db8:8000::', false],
  ])('%s holds %s: %s', (network, address, holds) => {
    const parsed = parseNetwork(network);
    expect(parsed !== null && isWithin(bytesOf(address) as Bytes, parsed)).toBe(holds);
  });
});
