export interface Publication {
  readonly issuer: 'root' | 'intermediate';
  readonly kind: 'certificate' | 'crl';
  readonly contentType: string;
  /** As text for people who install it, not as DER for programs. */
  readonly pem: boolean;
}

const certificate = (issuer: Publication['issuer']): Publication => ({
  issuer,
  kind: 'certificate',
  // RFC 2585, section 4.1, for the CA Issuers of RFC 5280, section 4.2.2.1.
  contentType: 'application/pkix-cert',
  pem: false,
});

const revocationList = (issuer: Publication['issuer']): Publication => ({
  issuer,
  kind: 'crl',
  // RFC 2585, section 4.2, for the distribution points of RFC 5280, section 4.2.1.13.
  contentType: 'application/pkix-crl',
  pem: false,
});

/** Files of the built-in CA, by file name below `/ca/`. */
export const publications: ReadonlyMap<string, Publication> = new Map([
  ['root.cer', certificate('root')],
  ['intermediate.cer', certificate('intermediate')],
  ['root.crl', revocationList('root')],
  ['intermediate.crl', revocationList('intermediate')],
  ['root.pem', { issuer: 'root', kind: 'certificate', contentType: 'application/x-pem-file', pem: true }],
]);
