import type { ProviderName } from '@certwright/gateway-contract';

/** The operator's registration as an OAuth client at a provider (RFC 6749, section 2). */
export interface OauthClientSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  /** As registered; the provider redirects the customer's browser there. */
  readonly redirectUri: string;
  /** The requested scope, when the registration names it differently from the provider's documentation. */
  readonly scope?: string;
}

export type OauthProviderName = 'cloudflare' | 'digitalocean' | 'dnsimple' | 'google';

/** The operator's own AWS account, which customers allow to assume one of their roles. */
export interface AwsSettings {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** For temporary keys; null for a user's keys. */
  readonly sessionToken: string | null;
  /** Principal in the trust policy of customers' roles, such as `arn:aws:iam::111122223333:user/certwright`. */
  readonly principalArn: string;
  /** Region of the STS endpoint; Route 53 itself is always signed for us-east-1. */
  readonly stsRegion: string;
  /** At least 16 bytes. Must never change: external ids are derived from it. */
  readonly externalIdSecret: string;
}

/** The operator's multi-tenant application in Microsoft Entra ID. */
export interface AzureSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  /** As in `AwsSettings`, whose value is the default. Without either, Azure is unavailable. */
  readonly externalIdSecret?: string;
}

/** What the operator has set up at the providers; null: customers cannot use that way. Plain data, read by config.ts. */
export interface OperatorSettings {
  readonly oauth: Readonly<Record<OauthProviderName, OauthClientSettings | null>>;
  readonly aws: AwsSettings | null;
  readonly azure: AzureSettings | null;
  /** Replace the providers' real base URLs: for tests, and for APIs behind a proxy. */
  readonly baseUrls: Partial<Readonly<Record<ProviderName, string>>>;
  /** The same for token endpoints: OAuth servers, Microsoft Entra ID, AWS STS. */
  readonly loginUrls?: Partial<Readonly<Record<ProviderName, string>>>;
  /** Default port; always 53 except in tests. */
  readonly rfc2136Port: number;
}

/** No setup: only providers for which customers provide their own credentials. */
export const bareOperator: OperatorSettings = {
  oauth: { cloudflare: null, digitalocean: null, dnsimple: null, google: null },
  aws: null,
  azure: null,
  baseUrls: {},
  rfc2136Port: 53,
};
