import type { IssuedMismatch } from '@certwright/pki';
import type { CaaReason, LookUpFailure } from '@certwright/dns-names';
import type { Listed } from './approval-outcome';
import type { Outcome } from './outcome';

/** The error types of ACME: RFC 8555, section 6.7; RFC 8657; RFC 9773, section 7.4; draft-aaron-acme-profiles. */
export const acmeProblemTypes = [
  'accountDoesNotExist',
  'alreadyReplaced',
  'alreadyRevoked',
  'badCSR',
  'badNonce',
  'badPublicKey',
  'badRevocationReason',
  'badSignatureAlgorithm',
  'caa',
  'compound',
  'connection',
  'dns',
  'externalAccountRequired',
  'incorrectResponse',
  'invalidContact',
  'invalidProfile',
  'malformed',
  'orderNotReady',
  'rateLimited',
  'rejectedIdentifier',
  'serverInternal',
  'tls',
  'unauthorized',
  'unsupportedContact',
  'unsupportedIdentifier',
  'userActionRequired',
] as const;
export type AcmeProblemType = (typeof acmeProblemTypes)[number];

/** Why a CA issues no certificate. `other`: an error type that ACME does not define, or no reason at all. */
export type RefusalReason =
  | AcmeProblemType
  | 'other'
  /** The CA offers no challenge that is set up for the name. */
  | 'no_challenge'
  /** The CA's own approval of the name has ended. */
  | 'approval_expired'
  | 'approval_revoked'
  | 'approval_deactivated'
  /** The attempt expired at the CA before it was complete. */
  | 'lapsed';

/** `saying`: the CA's message, printable and bounded; empty: none. */
export interface NameRefusal {
  readonly dnsName: string;
  readonly reason: RefusalReason;
  readonly saying: string;
}

export type CaLimitKind = 'newOrders' | 'perRegisteredDomain' | 'perNameSet' | 'failedAuthorizations';

/** Why no certificate came of an attempt. Times are RFC 3339, names of CAs those of the operator. */
export type AuthorityOutcome =
  /** `authority` null: unknown. `detail`: a diagnosis for operators, the message of the exception; empty: none. */
  | { readonly code: 'ca_unreachable'; readonly authority: string | null; readonly detail: string }
  | {
      readonly code: 'ca_refused';
      readonly authority: string;
      /** Before the CA began, or after. */
      readonly stage: 'request' | 'attempt';
      readonly reason: RefusalReason;
      readonly saying: string;
      readonly names: Listed<NameRefusal>;
    }
  | {
      readonly code: 'ca_down';
      readonly authority: string;
      readonly since: string;
      readonly nextProbeAt: string;
      readonly problem: Outcome | null;
    }
  | { readonly code: 'ca_not_in_use'; readonly authority: string }
  /** Another attempt for the same names is under way at the CA. */
  | { readonly code: 'ca_busy_with_names' }
  /** The CA has accepted the complete request, and is taking unusually long to issue. */
  | { readonly code: 'ca_still_issuing'; readonly authority: string; readonly since: string }
  /** The attempt at the CA ended for an unknown reason. */
  | { readonly code: 'ca_attempt_ended'; readonly authority: string }
  /** Every CA of the product refused. */
  | {
      readonly code: 'cas_refused';
      readonly refusals: readonly { readonly authority: string; readonly outcome: Outcome }[];
    }
  /** The CA accepts no email as proof. */
  | {
      readonly code: 'ca_needs_other_approval';
      readonly authority: string;
      readonly dnsNames: readonly string[];
    }
  | {
      readonly code: 'ca_limit_reached';
      readonly authority: string;
      readonly limit: CaLimitKind;
      /** The registered domain or name that is counted; empty: none. */
      readonly key: string;
      /** Null: the operator entered no numbers for it. */
      readonly size: { readonly count: number; readonly perS: number } | null;
      /** The rest of the limit is reserved for accounts that used less of it. */
      readonly isShared: boolean;
      readonly until: string;
    }
  | {
      readonly code: 'too_many_names';
      readonly count: number;
      readonly max: number;
      readonly limitOf:
        | { readonly kind: 'product'; readonly product: string }
        | { readonly kind: 'ca'; readonly authority: string; readonly profile: string | null };
    }
  | {
      readonly code: 'caa_forbids';
      readonly dnsName: string;
      /** The name that has the records. */
      readonly at: string;
      readonly reason: CaaReason;
      /** As in a zone file, quoted. */
      readonly records: readonly string[];
      /** Names of the request to which the same applies. */
      readonly more: number;
    }
  | {
      readonly code: 'caa_unknown';
      readonly dnsName: string;
      readonly at: string;
      readonly failure: LookUpFailure;
      readonly server: string;
      readonly more: number;
    }
  /** The challenge response could not be published in the platform's own zone. */
  | { readonly code: 'challenge_not_published' }
  | {
      readonly code: 'challenge_not_visible';
      readonly places: Listed<{ readonly name: string; readonly server: string }>;
    }
  | { readonly code: 'approval_zone_unknown'; readonly zone: string }
  | { readonly code: 'certificate_mismatch'; readonly faults: readonly IssuedMismatch[] }
  /** The CA did not return a certificate chain to a trusted root. `detail`: a diagnosis for operators. */
  | { readonly code: 'certificate_unusable'; readonly authority: string; readonly detail: string };
