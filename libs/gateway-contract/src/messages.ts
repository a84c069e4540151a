import type { Credentials, SealedCredentials } from './credentials';
import type { ProviderName } from './providers';

/** The record types for the issuance of certificates; others are never changed. */
export const recordTypes = ['TXT', 'CAA', 'CNAME', 'NS'] as const;
export type RecordType = (typeof recordTypes)[number];

export interface WantedRecord {
  /** The owner name, absolute with or without its dot: `_acme-challenge.www.example.com`. */
  readonly fqdn: string;
  readonly type: RecordType;
  /**
   * TXT: the text itself, without quotes, printable ASCII, at most 512 bytes (strings of 255 are joined). CAA:
   * `0 issue "ca.example"` (RFC 8659, section 4.1.1). CNAME, NS: the target's name.
   */
  readonly value: string;
  /** Seconds. Default: what the provider takes, at least 60. */
  readonly ttl?: number;
  /**
   * True: afterwards it is the only one of these types at its name, as a CNAME must be. Default: true for CNAME and NS,
   * false for TXT and CAA, which stand beside others.
   */
  readonly replace?: boolean;
}

/** A zone that an integration may change. */
export interface Zone {
  /** The provider's own, opaque. */
  readonly id: string;
  /** Lower case, A-labels, no dot at the end. */
  readonly name: string;
}

/** The owner of an integration. A handle is valid only with the same three values. */
export interface IntegrationOwner {
  /** The platform's account. */
  readonly account: string;
  /** Chosen by the caller before the integration is made; 1 to 64 of letters, digits, `_` and `-`. */
  readonly integration_id: string;
  readonly provider: ProviderName;
}

export interface Integrated extends IntegrationOwner {
  /** The integration handle. */
  readonly integration: string;
}

/**
 * A response, including an error, may contain a new integration handle: the credentials changed (a refresh token that
 * the provider rotated), or the key that sealed it is retiring. The caller stores it in place of the old one in every
 * case.
 */
export interface MaybeResealed {
  readonly integration?: string;
}

/** The four messages: path → request and response. All are idempotent. */
export interface GatewayMessages {
  /** Checks the credentials at the provider and seals them. Uses up an OAuth code. */
  make_integration: {
    request: IntegrationOwner & { readonly credentials: Credentials | SealedCredentials };
    answer: { readonly integration: string };
  };
  get_zones: {
    request: Integrated;
    answer: { readonly zones: readonly Zone[] } & MaybeResealed;
  };
  /** When the record exists already, the handle removes it only if the gateway had created it. */
  add_record: {
    request: Integrated & { readonly record: WantedRecord };
    answer: { readonly record_handle: string } & MaybeResealed;
  };
  /** A missing record counts as removed. */
  remove_record: {
    request: Integrated & { readonly record_handle: string };
    answer: MaybeResealed;
  };
}

export type GatewayEndpoint = keyof GatewayMessages;
export const gatewayEndpoints = [
  'make_integration',
  'get_zones',
  'add_record',
  'remove_record',
] as const satisfies readonly GatewayEndpoint[];

/** The error object; the codes are those of `@certwright/errors`. */
export interface GatewayError extends MaybeResealed {
  readonly code: string;
  readonly message: string;
  readonly field?: string;
  readonly sub_errors?: readonly {
    readonly field: string;
    readonly code: string;
    readonly message: string;
  }[];
}
