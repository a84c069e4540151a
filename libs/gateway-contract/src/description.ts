import type { Credentials } from './credentials';
import type { ProviderName } from './providers';

/** One member of a provider's credentials, for a form. */
export interface CredentialMember {
  readonly name: string;
  readonly meaning: string;
  readonly secret: boolean;
  readonly required: boolean;
}

/** One way of giving a provider's credentials. */
export interface CredentialKind {
  readonly type: Credentials['type'];
  readonly members: readonly CredentialMember[];
  /** Of `oauth_code`: where to send the customer's browser; the caller appends its own `state`. Otherwise null. */
  readonly authorization_url: string | null;
  /** Of `cloud_account`: the principal to allow, and the external id to require of it. Otherwise null. */
  readonly principal: string | null;
  readonly external_id: string | null;
}

export interface ProviderDescription {
  readonly name: ProviderName;
  readonly title: string;
  /** Least privilege: what to allow, and what not. */
  readonly advice: string;
  /** Empty when the operator has not configured this provider. */
  readonly credentials: readonly CredentialKind[];
}

/** `GET /description?account=…`: what a customer needs for an integration. Nothing in it is secret. */
export interface GatewayDescription {
  /** JSON Web Key (RFC 7517) that credentials are sealed to. */
  readonly encryption_key: Readonly<Record<string, string>>;
  readonly providers: readonly ProviderDescription[];
}
