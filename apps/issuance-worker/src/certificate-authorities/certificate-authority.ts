import type { IssuanceError, KeyType, NameApproval, Product } from '@certwright/issuance';
import type { Lease } from '@certwright/core-schema';
import type { Trial } from './health/trial';

/** What one certificate is asked with. Names, key and terms are the same for every repetition of one issuance. */
export interface CertificateRequest {
  /** Names the issuance, and proves that the caller may still write. */
  readonly lease: Lease;
  readonly accountId: string;
  readonly product: Product;
  readonly dnsNames: readonly string[];
  readonly keyType: KeyType;
  /** PKCS#10, DER. */
  readonly csr: Uint8Array;
  /** Days of 86,400 s. */
  readonly lifetimeDays: number;
  /** When what was paid for ends; null: nothing is sold by time. Kept where the CA lets us say how long a certificate lasts. */
  readonly expiresBy: Date | null;
  readonly subjectCommonName: boolean;
  /** How each name was approved here: a CA is never asked for one that was not. */
  readonly approvals: readonly NameApproval[];
  /** Name without `*.` → the secret label below the approval zone. */
  readonly delegationLabels: ReadonlyMap<string, string>;
  /** Failures of this issuance in a row. */
  readonly failures: number;
  /** Attempts before this one were ended by passing faults of a CA, since then; null: the one before was not. */
  readonly stalledSince: Date | null;
  /** This attempt finds out whether a CA that is down is up again; null: it is like any other. */
  readonly trial: Trial | null;
  /** CAs that have said no since this walk began. */
  readonly refusals: readonly Refusal[];
  /** The database's clock when the step began. */
  readonly now: Date;
  /** The database's clock, as it goes on. */
  readonly clock: () => Date;
  /** Makes sure that the lease lasts so long, ms; to be called before each exchange with a CA. @throws LeaseLost */
  readonly hold: (forMs: number) => Promise<void>;
}

/** One CA's no. */
export interface Refusal {
  readonly authority: string;
  readonly error: IssuanceError;
  /** When a limit frees, the next probe of a CA that is down is over, or a CA that stalled asks for patience; else null. */
  readonly until: Date | null;
  /** Repeating cannot mend it. */
  readonly final: boolean;
  /** `down`: it gets no request for now; `stalled`: it did not do what it was asked, and may a moment later. */
  readonly unavailable?: 'down' | 'stalled';
}

export type Submitted =
  /** `trial`: what follows is to find out whether the CA is up again. */
  { readonly kind: 'submitted'; readonly reference: string; readonly trial?: Trial } | Refused;

/** Nobody was asked, or whoever was asked refused. */
export interface Refused {
  readonly kind: 'refused';
  readonly error: IssuanceError;
  /** It waits for a limit, or for a CA, and has not failed. */
  readonly until: Date | null;
  readonly final: boolean;
  /** Names of CAs that are down: it goes on as soon as one of them is up. */
  readonly waitsFor: readonly string[];
  /** It is tried again soon, and has not failed. */
  readonly stalled: boolean;
}

/** DER throughout. */
export interface IssuedChain {
  readonly leaf: Uint8Array;
  /** The first certifies the leaf, each next one the one before it; without the root. */
  readonly chain: readonly Uint8Array[];
  readonly root: Uint8Array;
  /** Where to ask when the CA would have it replaced (RFC 9773); absent: it does not say. */
  readonly renewalInfo?: { readonly authority: string; readonly ariId: string };
}

export type Collected =
  | { readonly kind: 'issued'; readonly issued: IssuedChain }
  /** Not ready: ask again at that time. `error`: what it waits for, when that is worth saying. */
  | { readonly kind: 'pending'; readonly until: Date; readonly error: IssuanceError | null }
  /** Not known how it stands: ask again with the same reference, after a back-off. */
  | { readonly kind: 'unavailable'; readonly error: IssuanceError }
  /** The CA did not do what it was asked, and may a moment later: ask again with the same reference. `until`: not before. */
  | { readonly kind: 'stalled'; readonly error: IssuanceError; readonly until: Date | null }
  /** The CA gets no request for now: ask again with the same reference once it is up. */
  | {
      readonly kind: 'down';
      readonly authority: string;
      readonly error: IssuanceError;
      readonly until: Date;
    }
  /** The CA's attempt is over. `until`: another one waits for a limit. */
  | {
      readonly kind: 'rejected';
      readonly error: IssuanceError;
      readonly until: Date | null;
      readonly final: boolean;
    }
  /** The CA's attempt is over, nothing was issued, and another CA may be asked at once. */
  | { readonly kind: 'given_up'; readonly refusal: Refusal };

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
 * Turns a request into a certificate. testing/certificate-authority-suite.ts tests this contract for every adapter.
 *
 * Both `submit` and `collect` are called under the lease of the issuance. An adapter may repeat a single exchange with the
 * CA, within that lease; all other waiting is up to the caller. An error that is thrown means "not known what happened":
 * the caller backs off and repeats the call for the same issuance, in this process or another one.
 */
export interface CertificateAuthority {
  /**
   * Stores what is wanted; nothing is issued before that is committed. Repeated for the same issuance, in any process and
   * also at the same time, it returns the same reference, until `collect` reports that the CA's attempt is over
   * (`rejected`, `given_up`). Two issuances never share a reference, also not for the same names.
   *
   * An unavailable CA is a refusal that is not final, with `stalled` or `until`; it does not count as a failure.
   *
   * @returns a reference, which the caller stores before its first `collect`
   * @throws LeaseLost when the lease is lost and nothing is stored for the issuance; nothing is stored then either
   */
  submit(request: CertificateRequest): Promise<Submitted>;
  /**
   * Has the CA issue and returns the certificate. Repeated with the same reference, in any process, it returns the same
   * certificate, and the CA issues once: after a lost answer it first reads how the order stands. The certificate is for
   * exactly the names and the key of the request.
   *
   * An unavailable CA never ends the issuance: the outcome is `unavailable`, `stalled`, `down` or `given_up`, or an error.
   *
   * @throws LeaseLost when the lease is lost; an adapter may return the certificate that was issued instead, never another
   * @throws Error when nothing is stored under the reference, or it belongs to another issuance
   */
  collect(reference: string, request: CertificateRequest): Promise<Collected>;
  /**
   * Once it returns, the CA has stored that the certificate is revoked, for that reason unless it does not take the
   * reason. Repeated, in any process, it changes nothing. Another reason replaces the earlier one where the CA supports
   * that. Needs no lease.
   *
   * @throws Error when nothing is stored under the reference, or the CA is unavailable; the certificate may be revoked then
   */
  revoke(reference: string, order: RevocationOrder): Promise<void>;
}
