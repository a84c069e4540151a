import type { LookUpFailure } from '@certwright/dns-names';

/** What a visitor sees who connects to every address of some hosts. */
export interface Look {
  /** In the order of the question. */
  readonly hosts: readonly HostLook[];
  /** The certificates that were presented, each once: DER in base64. Untrusted. */
  readonly certificates: readonly string[];
}

export interface HostLook {
  /** As in the question: a DNS name in normal form, or an IP address. */
  readonly host: string;
  readonly lookUp: LookUp;
  /** One for each address and port, addresses in the order of the look-up. */
  readonly addresses: readonly AddressLook[];
  /** Published addresses without a result, because a look has a maximum number of them. */
  readonly omitted: number;
}

/**
 * `no_name`: the name does not exist. `dangling`: a CNAME leads to `target`, which does not exist. `no_address`: the name exists
 * and has no A and AAAA records. `failed`: the answer is not known.
 */
export type LookUp =
  | { readonly kind: 'found' | 'no_name' | 'no_address' }
  | { readonly kind: 'dangling'; readonly target: string }
  | { readonly kind: 'failed'; readonly failure: LookUpFailure };

export interface AddressLook {
  /** IPv4 or IPv6 in its shortest form. */
  readonly address: string;
  readonly port: number;
  readonly result: Presented | NotPresented;
}

/** The server completed a TLS handshake. */
export interface Presented {
  readonly kind: 'presented';
  /** Indexes in `Look.certificates`, in the order of the Certificate message; at least one, the leaf first. */
  readonly chain: readonly number[];
  /** Negotiated: `TLSv1`, `TLSv1.1`, `TLSv1.2` or `TLSv1.3`. */
  readonly version: string;
  /** Negotiated, in the IANA registry's spelling. */
  readonly cipher: string;
  /** Status of `HEAD /`; null: not asked for, or no HTTP response. */
  readonly httpStatus: number | null;
}

/**
 * `refused_address`: a special-purpose address, which is never connected to. `busy`: other looks occupy the address or its
 * network; nothing is known. `internal`: the look itself failed; nothing is known.
 */
export const notPresentedReasons = [
  'refused_address',
  'connect',
  'handshake',
  'too_large',
  'timeout',
  'busy',
  'internal',
] as const;

export type NotPresentedReason = (typeof notPresentedReasons)[number];

export interface NotPresented {
  readonly kind: 'not_presented';
  readonly reason: NotPresentedReason;
  /** A sentence for the customer, without data from the server. */
  readonly problem: string;
}
