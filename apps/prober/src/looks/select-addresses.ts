import { maxAddressesOfHost, maxAddressesOfLook } from '@certwright/endpoint-checks';
import type { LookedUpHost } from './look-up-host';

export interface HostAddress {
  readonly host: string;
  readonly address: string;
}

/**
 * The addresses that a look connects to, in the order in which it does: the first of each host, then the second of each.
 * Every host gets one before any gets a second one.
 */
export function selectAddresses(
  hosts: readonly Pick<LookedUpHost, 'host' | 'addresses'>[],
): readonly HostAddress[] {
  return Array.from({ length: maxAddressesOfHost }, (_, rank) => rank)
    .flatMap((rank) => hosts.map(({ host, addresses }) => ({ host, address: addresses[rank] })))
    .filter((each): each is HostAddress => each.address !== undefined)
    .slice(0, maxAddressesOfLook);
}
