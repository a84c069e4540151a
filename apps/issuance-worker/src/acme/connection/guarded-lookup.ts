import { lookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { specialPurposeOf } from '@certwright/outbound';

/** A host of the allowed list points into a private network, where the directory's own host does not. */
export class RefusedAddress extends Error {}

/**
 * Looks up hosts of the operator's choice. The directory's may be private: a company's own CA is. Another allowed host may
 * then be so too; with a public directory it may not, for its zone belongs to somebody else.
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
