import { lookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { specialPurposeOf } from '@certwright/outbound';

/** An allowed host resolves to a private address while the directory's host does not. */
export class RefusedAddress extends Error {}

/**
 * Looks up hosts that the operator configured. The directory's host may have a private address, such as a company's
 * own CA; then other allowed hosts may too. With a public directory they may not: a third party controls their zone.
 */
export function guardedLookup(directoryHost: string): LookupFunction {
  return (hostname, { family, hints }, callback) => {
    const respond = callback as (error: Error | null, addresses: LookupAddress[]) => void;
    lookup(hostname, { family, hints, all: true }, (error, addresses) => {
      if (error !== null || hostname === directoryHost || !addresses.some(isPrivate))
        return respond(error, addresses);
      lookup(directoryHost, { all: true }, (fault, own) => {
        const allowed = fault === null && own.some(isPrivate);
        respond(allowed ? null : new RefusedAddress('An allowed host has a private address.'), addresses);
      });
    });
  };
}

function isPrivate({ address }: LookupAddress): boolean {
  return specialPurposeOf(address) !== null;
}
