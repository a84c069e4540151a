import type { Issuers } from '../certificate-authorities/authorities-in-order';
import type { CertificateAuthority } from '../certificate-authorities/certificate-authority';

/** One CA that issues every product, and accepts records of parent names like the built-in one. */
export function soleIssuer(ca: CertificateAuthority): Issuers {
  return {
    acceptsParentRecords: () => true,
    mayHaveIssued: async () => await Promise.resolve(false),
    serves: async () => await Promise.resolve(true),
    submit: async (request) => await ca.submit(request),
    collect: async (reference, request) => await ca.collect(reference, request),
    revoke: async (reference, order) => await ca.revoke(reference, order),
  };
}
