import type { ProviderName } from '@certwright/gateway-contract';

/** The operator's registration as an OAuth client at a provider (RFC 6749, section 2). */
export interface OauthClientSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  /** As registered; the provider sends the customer's browser there. */
  readonly redirectUri: string;
  /** What is asked for, when the registration names it otherwise than the provider's documentation does. */
  readonly scope?: string;
}

export type OauthProviderName = 'cloudflare' | 'digitalocean' | 'dnsimple' | 'google';

/** The operator's own AWS account, which customers let assume a role of theirs. */
export interface AwsSettings {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary keys; null for those of a user. */
  readonly sessionToken: string | null;
  /** Whom customers name in their role's trust policy, such as `arn:aws:iam::111122223333:user/certwright`. */
  readonly principalArn: string;
  /** Of the STS endpoint; Route 53 itself is always signed for us-east-1. */
  readonly stsRegion: string;
  /** At least 16 octets, never changed: external ids are made with it. */
  readonly externalIdSecret: string;
}

/** The operator's multi-tenant application in Microsoft Entra ID. */
export interface AzureSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  /** As in `AwsSettings`, and that one when it is absent. Without either, Azure cannot be used. */
  readonly externalIdSecret?: string;
}

/** What the operator has set up at the providers; null: customers cannot use that way. Plain data, read by config.ts. */
export interface OperatorSettings {
  readonly oauth: Readonly<Record<OauthProviderName, OauthClientSettings | null>>;
  readonly aws: AwsSettings | null;
  readonly azure: AzureSettings | null;
  /** Instead of the providers' real ones: for tests, and for APIs behind a proxy. */
  readonly baseUrls: Partial<Readonly<Record<ProviderName, string>>>;
  /** The same for where tokens come from: OAuth servers, Microsoft Entra ID, AWS STS. */
  readonly loginUrls?: Partial<Readonly<Record<ProviderName, string>>>;
  /** Where no port is given; 53 anywhere but in tests. */
  readonly rfc2136Port: number;
}

/** Nothing set up: only providers that customers bring their own credentials for. */
export const bareOperator: OperatorSettings = {
  oauth: { cloudflare: null, digitalocean: null, dnsimple: null, google: null },
  aws: null,
  azure: null,
  baseUrls: {},
  rfc2136Port: 53,
};
