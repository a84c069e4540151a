import type { Credentials, SealedCredentials } from './credentials';
import type { ProviderName } from './providers';
import type { WantedRecord, Zone } from './records';

/** Whose integration a request is about. A handle opens only together with the same three. */
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
 * An answer, and an error too, may bring a new integration handle: the credentials changed (a refresh token that the
 * provider rotated), or the key that sealed it is retiring. The caller stores it in place of the old one, whatever else
 * the answer says.
 */
export interface MaybeResealed {
  readonly integration?: string;
}

/** The four messages: path → request and answer. Each may be repeated: the second time changes nothing more. */
export interface GatewayMessages {
  /** Checks the credentials at the provider and seals them. An OAuth code is used up by it. */
  make_integration: {
    request: IntegrationOwner & { readonly credentials: Credentials | SealedCredentials };
    answer: { readonly integration: string };
  };
  get_zones: {
    request: Integrated;
    answer: { readonly zones: readonly Zone[] } & MaybeResealed;
  };
  /** Also when the record stands already, the answer is a handle that removes it. */
  add_record: {
    request: Integrated & { readonly record: WantedRecord };
    answer: { readonly record_handle: string } & MaybeResealed;
  };
  /** A record that is gone already is a success. */
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
