import type { ProviderName } from './providers';

/**
 * A secret that the customer created at the provider, with related values. Members differ by provider; all are
 * strings.
 */
export interface BearerCredentials {
  readonly type: 'bearer';
  readonly [member: string]: string;
}

/** The provider's redirect parameters (RFC 6749, section 4.1.2); exchanged once, by the gateway. */
export interface OauthCodeCredentials {
  readonly type: 'oauth_code';
  readonly code: string;
  /** RFC 7636. */
  readonly code_verifier?: string;
  readonly [member: string]: string | undefined;
}

/** The cloud account to which the customer gave the operator's cloud account access; nothing in it is secret. */
export interface CloudAccountCredentials {
  readonly type: 'cloud_account';
  readonly [member: string]: string;
}

/** Sealed to the gateway's public key, so that only the gateway can read them. */
export interface SealedCredentials {
  readonly type: 'sealed';
  /** Compact JWE (RFC 7516) over `SealedContent`. */
  readonly jwe: string;
}

export type Credentials = BearerCredentials | OauthCodeCredentials | CloudAccountCredentials;

/** The plaintext of `SealedCredentials.jwe`: valid for this account and provider only, and for ten minutes. */
export interface SealedContent {
  readonly account: string;
  readonly provider: ProviderName;
  readonly credentials: Credentials;
  /** Unix time, seconds. */
  readonly issued_at: number;
}

export const sealedContentAgeS = 600;
/** JWE header: ECDH-ES with key wrapping on P-256 (RFC 7518, sections 4.6 and 5.3). */
export const sealingAlgorithms = { alg: 'ECDH-ES+A256KW', enc: 'A256GCM' } as const;
