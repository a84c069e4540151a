import type { IssuanceError, KeyType } from '@certwright/issuance';
import type { Lease } from '@certwright/persistence';

/** What one certificate is asked with. The same for every repetition of one issuance. */
export interface CertificateRequest {
  /** Names the issuance, and proves that the caller may still write. */
  readonly lease: Lease;
  readonly dnsNames: readonly string[];
  readonly keyType: KeyType;
  /** PKCS#10, DER. */
  readonly csr: Uint8Array;
  /** Days of 86,400 s. */
  readonly lifetimeDays: number;
  readonly subjectCommonName: boolean;
  /** The database's clock. */
  readonly now: Date;
}

/** DER throughout. */
export interface IssuedChain {
  readonly leaf: Uint8Array;
  /** The first certifies the leaf, each next one the one before it; without the root. */
  readonly chain: readonly Uint8Array[];
  readonly root: Uint8Array;
}

export type Collected =
  | { readonly kind: 'issued'; readonly issued: IssuedChain }
  /** Not ready: ask again at that time. */
  | { readonly kind: 'pending'; readonly until: Date }
  /** `final`: repeating cannot mend it. */
  | { readonly kind: 'rejected'; readonly error: IssuanceError; readonly final: boolean };

/** What a CA may want to see of a certificate that it is to revoke. */
export interface RevocationOrder {
  /** Lower-case hex. */
  readonly serialNumber: string;
  /** DER: an ACME server is shown the certificate itself (RFC 8555, section 7.6). */
  readonly leaf: Uint8Array;
  /** CRLReason, RFC 5280, 5.3.1. */
  readonly reason: number;
}

/**
 * Whoever turns a request into a certificate. Contract:
 * - `submit` is durable and idempotent by issuance: called again after a crash it leads to the same certificate, never to
 *   a second one. Its reference is stored before `collect` is called for the first time.
 * - `collect` may be called any number of times with the same reference and hands out the same certificate each time.
 * - `revoke` is durable and idempotent: once it returns, the certificate is revoked for that reason, however often it was
 *   called. Another reason takes the place of an earlier one, where the CA can say so.
 * - None repeats by itself. Anything thrown counts as "not known what happened" and is tried again later with back-off.
 */
export interface CertificateAuthority {
  submit(request: CertificateRequest): Promise<string>;
  collect(reference: string, request: CertificateRequest): Promise<Collected>;
  revoke(reference: string, order: RevocationOrder): Promise<void>;
}
