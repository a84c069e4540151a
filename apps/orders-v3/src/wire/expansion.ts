/** Which expandable members of a certificate the response has. */
export interface CertificateExpansion {
  readonly leaf: boolean;
  readonly chain: boolean;
  readonly root: boolean;
}

/** Which expandable members of an order the response has. */
export interface OrderExpansion {
  readonly csr: boolean;
  /** Null: `current_cert` is left out. */
  readonly currentCert: CertificateExpansion | null;
  readonly issuance: boolean;
  readonly installations: boolean;
}

/** @param expand the values of the `expand` parameter; unknown names are ignored */
export function orderExpansion(expand: unknown): OrderExpansion {
  const requested = requestedMembers(expand);
  const currentCert = certificateMembers(requested, 'current_cert.');
  const { leaf, chain, root } = currentCert;
  return {
    csr: requested.has('csr'),
    // A nested name alone yields its parent with the base fields too.
    currentCert: requested.has('current_cert') || leaf || chain || root ? currentCert : null,
    issuance: requested.has('issuance'),
    installations: requested.has('installations'),
  };
}

/** @param expand the values of the `expand` parameter; unknown names are ignored */
export function certificateExpansion(expand: unknown): CertificateExpansion {
  return certificateMembers(requestedMembers(expand), '');
}

function certificateMembers(requested: ReadonlySet<unknown>, prefix: string): CertificateExpansion {
  return {
    leaf: requested.has(`${prefix}leaf`),
    chain: requested.has(`${prefix}chain`),
    root: requested.has(`${prefix}root`),
  };
}

/** A parameter that occurs once is a string, a repeated one is an array. */
function requestedMembers(expand: unknown): ReadonlySet<unknown> {
  return new Set<unknown>(Array.isArray(expand) ? expand : [expand]);
}
