import { maxAddressesOfHost, maxAddressesOfLook } from '@certwright/endpoint-checks';
import { selectAddresses } from './select-addresses';

const found = (host: string, count: number) => ({
  host,
  addresses: Array.from({ length: count }, (_, at) => `${host}/${at}`),
});
const selected = (...hosts: ReturnType<typeof found>[]) =>
  selectAddresses(hosts).map(({ address }) => address);

describe('the addresses of a look', () => {
  it('are all when they are few, the first one of each host first', () => {
    const all = selected(found('a', 2), found('b', 1), found('none', 0), found('c', 3));
    expect(all).toEqual(['a/0', 'b/0', 'c/0', 'a/1', 'c/1', 'c/2']);
  });

  it(`are max ${maxAddressesOfHost} of a host`, () => {
    expect(selected(found('a', maxAddressesOfHost + 3))).toEqual(found('a', maxAddressesOfHost).addresses);
  });

  it(`are max ${maxAddressesOfLook} in all, and every host gets one before any gets a second one`, () => {
    const hosts = Array.from({ length: 100 }, (_, at) => found(`h${at}`, at === 0 ? 3 : 1));
    expect(selected(...hosts)).toEqual(Array.from({ length: maxAddressesOfLook }, (_, at) => `h${at}/0`));
    const fewer = selected(...hosts.slice(0, maxAddressesOfLook - 1));
    expect(fewer).toHaveLength(maxAddressesOfLook);
    expect(fewer.at(-1)).toBe('h0/1');
  });
});
