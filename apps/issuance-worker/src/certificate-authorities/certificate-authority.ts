import type { IssuanceError, KeyType, NameApproval, Product } from '@certwright/issuance';
import type { Lease, Tx } from '@certwright/core-schema';
import type { Trial } from './health/trial';

/** Request for one certificate. Names, key and terms are the same in every retry of an issuance. */
export interface CertificateRequest {
  /** Identifies the issuance and proves that the caller may still write. */
  readonly lease: Lease;
  readonly accountId: string;
  readonly product: Product;
  readonly dnsNames: readonly string[];
  readonly keyType: KeyType;
  /** PKCS#10, DER. */
  readonly csr: Uint8Array;
  /** Days of 86,400 s. */
  readonly lifetimeDays: number;
  /** End of the paid period; null: not sold by period. Applied only by CAs that let us choose the validity. */
  readonly expiresBy: Date | null;
  readonly subjectCommonName: boolean;
  /** How each name was approved here; unapproved names are never requested. */
  readonly approvals: readonly NameApproval[];
  /** Name without `*.` → the secret label below the approval zone. */
  readonly delegationLabels: ReadonlyMap<string, string>;
  /** Consecutive failures of this issuance. */
  readonly failures: number;
  /** Since when attempts have ended with transient CA errors; null: the previous one did not. */
  readonly stalledSince: Date | null;
  /** This attempt tests whether a CA is up again; null: a normal attempt. */
  readonly trial: Trial | null;
  /** CAs that have refused since this attempt began. */
  readonly refusals: readonly Refusal[];
  /** False: nothing can be submitted yet for the issuance, and it replaces no certificate. */
  readonly hasHistory: boolean;
  /** The key is blocked: a certificate that was requested is collected, and none is requested. */
  readonly keyBlocked: boolean;
  /** From the `submit` right before this `collect`; null: it was earlier, or in another process. */
  readonly begun: object | null;
  /** Database time when the step began. */
  readonly now: Date;
  /** Current database time. */
  readonly clock: () => Date;
  /** Ensures that the lease lasts this long, ms; call before each exchange with a CA. @throws LeaseLost */
  readonly hold: (forMs: number) => Promise<void>;
  /**
   * Waits until then under the lease, while other issuances use the capacity of this process.
   *
   * @returns false without waiting, or before the time: the attempt ends as `pending` instead
   * @throws LeaseLost
   */
  readonly pause: (until: Date) => Promise<boolean>;
}

/** Refusal by one CA. */
export interface Refusal {
  readonly authority: string;
  readonly error: IssuanceError;
  /** When a limit resets, the next probe of a CA that is down ends, or the Retry-After of a stalled CA; else null. */
  readonly until: Date | null;
  /** A retry cannot succeed. */
  readonly final: boolean;
  /** `down`: no requests are sent for now; `stalled`: the request failed and may succeed a moment later. */
  readonly unavailable?: 'down' | 'stalled';
}

export type Submitted =
  | {
      readonly kind: 'submitted';
      readonly reference: string;
      /** The next steps test whether the CA is up again. */
      readonly trial?: Trial;
      /** The adapter has also stored reference and approvals in the issuance, and cleared an earlier problem. */
      readonly isStored?: boolean;
      /** The adapter has also extended the lease: `forMs` from `requestedMs` by `performance.now()`. */
      readonly extended?: { readonly requestedMs: number; readonly forMs: number };
      /** What `collect` need not read again. */
      readonly begun?: object;
    }
  | Refused;

/** No CA was available, or every CA that was requested refused. */
export interface Refused {
  readonly kind: 'refused';
  readonly error: IssuanceError;
  /** Not a failure: the issuance waits for a limit or a CA until then. With `backsOff`: at most until then. */
  readonly until: Date | null;
  /** A failure: one of the CAs refused for a reason that may not last, so it is tried again after the back-off. */
  readonly backsOff?: boolean;
  readonly final: boolean;
  /** Names of CAs that are down: the issuance continues as soon as one of them is up. */
  readonly waitsFor: readonly string[];
  /** Not a failure: it is retried soon. */
  readonly stalled: boolean;
}

/** All members are DER. */
export interface IssuedChain {
  readonly leaf: Uint8Array;
  /** Each one certifies the previous certificate, starting with the leaf; without the root. */
  readonly chain: readonly Uint8Array[];
  readonly root: Uint8Array;
  /** Further writes of the adapter, in the transaction that attaches the certificate; null: it is not attached. */
  readonly store?: (tx: Tx | null) => Promise<void>;
  /** Identifies the renewal information (RFC 9773); absent: the CA has none. */
  readonly renewalInfo?: { readonly authority: string; readonly ariId: string };
}

export type Collected =
  | { readonly kind: 'issued'; readonly issued: IssuedChain }
  /** Not ready: call again at that time. `error`: what it waits for, if worth reporting. */
  | { readonly kind: 'pending'; readonly until: Date; readonly error: IssuanceError | null }
  /** State unknown: call again with the same reference, after a back-off. */
  | { readonly kind: 'unavailable'; readonly error: IssuanceError }
  /** The request failed and may succeed a moment later: call again with the same reference, not before `until`. */
  | { readonly kind: 'stalled'; readonly error: IssuanceError; readonly until: Date | null }
  /** No requests are sent for now: call again with the same reference once the CA is up. */
  | {
      readonly kind: 'down';
      readonly authority: string;
      readonly error: IssuanceError;
      readonly until: Date;
    }
  /** The CA's attempt is over. `until`: when a limit allows another one. */
  | {
      readonly kind: 'rejected';
      readonly error: IssuanceError;
      readonly until: Date | null;
      readonly final: boolean;
    }
  /** The CA's attempt is over without a certificate, and another CA may be tried at once. */
  | { readonly kind: 'given_up'; readonly refusal: Refusal };

/** What a CA may need to revoke a certificate. */
export interface RevocationOrder {
  /** Lower-case hex. */
  readonly serialNumber: string;
  /** DER; ACME revocation sends the certificate (RFC 8555, section 7.6). */
  readonly leaf: Uint8Array;
  /** CRLReason, RFC 5280, 5.3.1. */
  readonly reason: number;
}

/**
 * Turns a request into a certificate. testing/certificate-authority-suite.ts tests this contract for every adapter.
 *
 * Both `submit` and `collect` are called under the lease of the issuance. An adapter may retry a single exchange with
 * the CA within that lease, and `pause`; the caller does all other waiting. A thrown error means "outcome unknown": the caller
 * backs off and repeats the call for the same issuance, in this process or another one.
 */
export interface CertificateAuthority {
  /**
   * Stores the request; nothing is issued before that is committed. Repeated for the same issuance, also concurrently
   * in any process, it returns the same reference until `collect` reports that the CA's attempt is over (`rejected`,
   * `given_up`). Two issuances never share a reference, even for the same names.
   *
   * An unavailable CA is a refusal that is not final, with `stalled` or `until`; it does not count as a failure.
   *
   * @returns a reference, which the caller stores before its first `collect`, unless `isStored`
   * @throws LeaseLost when the lease is lost and nothing is stored for the issuance; nothing is stored then either
   */
  submit(request: CertificateRequest): Promise<Submitted>;
  /**
   * Has the CA issue and returns the certificate. Repeated with the same reference, in any process, it returns the
   * same certificate, and the CA issues once: after a lost response it first reads the order. The certificate is for
   * exactly the names and the key of the request.
   *
   * An unavailable CA never ends the issuance: the outcome is `unavailable`, `stalled`, `down` or `given_up`, or an
   * error.
   *
   * @throws LeaseLost when the lease is lost; an adapter may return the certificate that was issued instead, never
   *   another
   * @throws Error when nothing is stored under the reference, or it belongs to another issuance
   */
  collect(reference: string, request: CertificateRequest): Promise<Collected>;
  /**
   * Once it returns, the CA has stored the revocation, with that reason if the CA accepts it. Idempotent, in any
   * process. Another reason replaces the earlier one where the CA supports that. Needs no lease.
   *
   * @throws Error when nothing is stored under the reference, or the CA is unavailable; the certificate may be
   *   revoked then
   */
  revoke(reference: string, order: RevocationOrder): Promise<void>;
}
