/** Why a DNS lookup has no usable result. */
export type LookUpFailure =
  /** No usable response in time. */
  | 'timeout'
  /** The network reported that no process listens at the address. */
  | 'unreachable'
  | 'servfail'
  | 'refused'
  | 'formerr'
  | 'notimp'
  /** A response code without its own name here. */
  | 'other_rcode'
  | 'malformed'
  /** A response above the size limit. */
  | 'too_large'
  /** The caller's signal, or the client was closed. */
  | 'aborted'
  /** An empty or over-long label, or characters other than letters, digits, `-` and `_`. */
  | 'invalid_name';

/** Why CAA records forbid the CA to issue (RFC 8659, RFC 8657). */
export type CaaReason =
  /** `allowed`: the CAs that they name; empty: issuance is forbidden. `issuer`: the value that would allow ours. */
  | {
      readonly kind: 'other_issuers';
      readonly tag: string;
      readonly allowed: readonly string[];
      readonly issuer: string;
    }
  | { readonly kind: 'other_account'; readonly accountUri: string }
  | { readonly kind: 'other_method'; readonly method: string }
  | { readonly kind: 'unknown_critical' };
