import { type ProviderName, providerNames } from '@certwright/gateway-contract';
import {
  integer,
  list,
  secret,
  type Secret,
  type Setting,
  SettingsError,
  type SettingValues,
  string,
} from '@certwright/service';
import type { OauthClientSettings, OauthProviderName, OperatorSettings } from './providers/operator';

const clientId = (provider: string) =>
  string({
    meaning: `Of the operator's OAuth client at ${provider}; without it customers cannot use OAuth there`,
    default: null,
  });
const clientSecret = (provider: string) =>
  secret({ meaning: `Of the operator's OAuth client at ${provider}`, default: null });

/** `desec=http://127.0.0.1:8080`. */
const providerUrl: Setting<readonly [ProviderName, string]> = {
  meaning: 'A provider and its URL',
  unit: 'provider=URL',
  secret: false,
  read: (text) => {
    const at = text.indexOf('=');
    const name = providerNames.find((each) => each === text.slice(0, at));
    const url = text.slice(at + 1);
    const isUrl = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
    return name !== undefined && isUrl ? { value: [name, url] } : { fault: 'is not provider=https://…' };
  },
  show: ([name, url]) => `${name}=${url}`,
};

/** The operator's setup at DNS providers. All of it is optional: customers can use their own tokens. */
export const operatorSettings = {
  OAUTH_REDIRECT_URI: string({
    meaning: "Where providers send the customer's browser back to; registered with each OAuth client",
    pattern: /^https?:\/\/[^\s#]+$/,
    default: null,
  }),
  CLOUDFLARE_OAUTH_CLIENT_ID: clientId('Cloudflare'),
  CLOUDFLARE_OAUTH_CLIENT_SECRET: clientSecret('Cloudflare'),
  DIGITALOCEAN_OAUTH_CLIENT_ID: clientId('DigitalOcean'),
  DIGITALOCEAN_OAUTH_CLIENT_SECRET: clientSecret('DigitalOcean'),
  DNSIMPLE_OAUTH_CLIENT_ID: clientId('DNSimple'),
  DNSIMPLE_OAUTH_CLIENT_SECRET: clientSecret('DNSimple'),
  GOOGLE_OAUTH_CLIENT_ID: clientId('Google'),
  GOOGLE_OAUTH_CLIENT_SECRET: clientSecret('Google'),
  AWS_ACCESS_KEY_ID: string({
    meaning:
      "Of the operator's own AWS account, which customers let assume a role; it needs sts:AssumeRole alone",
    default: null,
  }),
  AWS_SECRET_ACCESS_KEY: secret({ meaning: 'Belongs to AWS_ACCESS_KEY_ID', default: null }),
  AWS_SESSION_TOKEN: secret({
    meaning: 'Belongs to AWS_ACCESS_KEY_ID when that is temporary',
    default: null,
  }),
  AWS_PRINCIPAL_ARN: string({
    meaning: "Whom customers name in their role's trust policy",
    pattern: /^arn:[\w-]+:(iam|sts)::\d{12}:\S+$/,
    default: null,
  }),
  AWS_STS_REGION: string({
    meaning: 'Region whose STS is used',
    pattern: /^[a-z]{2}(-[a-z]+)+-\d$/,
    default: 'us-east-1',
  }),
  EXTERNAL_ID_SECRET: secret({
    meaning:
      'External ids are made with it, one per account; never changed, or customers must change their roles',
    minLength: 16,
    default: null,
  }),
  AZURE_CLIENT_ID: string({
    meaning: "Of the operator's multi-tenant application in Microsoft Entra ID",
    default: null,
  }),
  AZURE_CLIENT_SECRET: secret({ meaning: 'Belongs to AZURE_CLIENT_ID', default: null }),
  PROVIDER_URLS: list(providerUrl, {
    meaning: 'Instead of the real APIs of providers: for tests, and for APIs behind a proxy',
    default: [],
  }),
  PROVIDER_LOGIN_URLS: list(providerUrl, {
    meaning: 'The same for where tokens come from: OAuth servers, Microsoft Entra ID, AWS STS',
    default: [],
  }),
  RFC2136_PORT: integer({
    meaning: "Port of customers' name servers that name none; another one than 53 for a test network only",
    unit: 'port',
    min: 1,
    max: 65_535,
    default: 53,
  }),
};

type Values = SettingValues<typeof operatorSettings>;

/** @throws SettingsError when settings that belong together are incomplete */
export function operatorOf(values: Values): OperatorSettings {
  return {
    oauth: {
      cloudflare: oauthOf(
        'cloudflare',
        values.CLOUDFLARE_OAUTH_CLIENT_ID,
        values.CLOUDFLARE_OAUTH_CLIENT_SECRET,
        values,
      ),
      digitalocean: oauthOf(
        'digitalocean',
        values.DIGITALOCEAN_OAUTH_CLIENT_ID,
        values.DIGITALOCEAN_OAUTH_CLIENT_SECRET,
        values,
      ),
      dnsimple: oauthOf(
        'dnsimple',
        values.DNSIMPLE_OAUTH_CLIENT_ID,
        values.DNSIMPLE_OAUTH_CLIENT_SECRET,
        values,
      ),
      google: oauthOf('google', values.GOOGLE_OAUTH_CLIENT_ID, values.GOOGLE_OAUTH_CLIENT_SECRET, values),
    },
    aws: awsOf(values),
    azure: azureOf(values),
    baseUrls: Object.fromEntries(values.PROVIDER_URLS),
    loginUrls: Object.fromEntries(values.PROVIDER_LOGIN_URLS),
    rfc2136Port: values.RFC2136_PORT,
  };
}

function oauthOf(
  provider: OauthProviderName,
  id: string | null,
  clientSecretOf: Secret | null,
  { OAUTH_REDIRECT_URI: redirectUri }: Values,
): OauthClientSettings | null {
  if (id === null && clientSecretOf === null) return null;
  const name = provider.toUpperCase();
  return {
    clientId: needed(id, `${name}_OAUTH_CLIENT_ID`),
    clientSecret: needed(clientSecretOf, `${name}_OAUTH_CLIENT_SECRET`).reveal(),
    redirectUri: needed(redirectUri, 'OAUTH_REDIRECT_URI'),
  };
}

function awsOf(values: Values): OperatorSettings['aws'] {
  if (values.AWS_ACCESS_KEY_ID === null && values.AWS_SECRET_ACCESS_KEY === null) return null;
  return {
    accessKeyId: needed(values.AWS_ACCESS_KEY_ID, 'AWS_ACCESS_KEY_ID'),
    secretAccessKey: needed(values.AWS_SECRET_ACCESS_KEY, 'AWS_SECRET_ACCESS_KEY').reveal(),
    sessionToken: values.AWS_SESSION_TOKEN?.reveal() ?? null,
    principalArn: needed(values.AWS_PRINCIPAL_ARN, 'AWS_PRINCIPAL_ARN'),
    stsRegion: values.AWS_STS_REGION,
    externalIdSecret: needed(values.EXTERNAL_ID_SECRET, 'EXTERNAL_ID_SECRET').reveal(),
  };
}

function azureOf(values: Values): OperatorSettings['azure'] {
  const { AZURE_CLIENT_ID: id, AZURE_CLIENT_SECRET: own } = values;
  if (id === null && own === null) return null;
  return {
    clientId: needed(id, 'AZURE_CLIENT_ID'),
    clientSecret: needed(own, 'AZURE_CLIENT_SECRET').reveal(),
    externalIdSecret: needed(values.EXTERNAL_ID_SECRET, 'EXTERNAL_ID_SECRET').reveal(),
  };
}

function needed<T>(value: T | null, name: string): T {
  if (value !== null) return value;
  throw new SettingsError([{ name, fault: 'is missing, while others that belong to it are set' }]);
}
