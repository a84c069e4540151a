import type { CallApi } from '../http/call-api';
import { ifDocumented, Json } from '../http/json';
import { checkedCall, type CheckedPorts } from '../http/checked-call';
import type { OauthClientSettings } from '../operator';
import { ProviderFault, type ProviderFaultKind } from '../provider-fault';

/** RFC 6749, section 3.2, as one provider documents it. */
export interface TokenEndpoint {
  /** Name in messages. */
  readonly provider: string;
  readonly tokenUrl: string;
  readonly client: Pick<OauthClientSettings, 'clientId' | 'clientSecret'>;
  /** Section 2.3.1: HTTP Basic, or members of the form. */
  readonly clientAuthentication: 'basic' | 'form';
}

export interface TokenGrant {
  readonly accessToken: string;
  /** Null: the refresh token in use stays valid, or there is none. */
  readonly refreshToken: string | null;
  /** Seconds; null: it does not expire. */
  readonly expiresInS: number | null;
}

export type TokenPorts = Omit<CheckedPorts, 'call'> & { readonly callApi: CallApi };

/** Section 4.1.3. A code is valid for one exchange, so it is never sent twice. */
export function exchangeCode(
  endpoint: TokenEndpoint & { readonly client: OauthClientSettings },
  { code, codeVerifier }: { readonly code: string; readonly codeVerifier: string | null },
  ports: TokenPorts,
): Promise<TokenGrant> {
  const { redirectUri } = endpoint.client;
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
  // RFC 7636, section 4.5.
  return requestToken(
    endpoint,
    codeVerifier === null ? form : { ...form, code_verifier: codeVerifier },
    ports,
  );
}

/** Section 6. The response may contain a new refresh token, which replaces the one that was sent. */
export function refreshToken(endpoint: TokenEndpoint, token: string, ports: TokenPorts): Promise<TokenGrant> {
  return requestToken(endpoint, { grant_type: 'refresh_token', refresh_token: token }, ports);
}

/** Section 4.4: the client's own access. */
export function clientCredentials(
  endpoint: TokenEndpoint,
  scope: string,
  ports: TokenPorts,
): Promise<TokenGrant> {
  return requestToken(endpoint, { grant_type: 'client_credentials', scope }, ports);
}

async function requestToken(
  { provider, tokenUrl, client, clientAuthentication }: TokenEndpoint,
  grant: Readonly<Record<string, string>>,
  ports: TokenPorts,
): Promise<TokenGrant> {
  const { clientId, clientSecret } = client;
  const basic = clientAuthentication === 'basic';
  const form = basic ? grant : { ...grant, client_id: clientId, client_secret: clientSecret };
  const response = await checkedCall(
    {
      method: 'POST',
      url: tokenUrl,
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        ...(basic ? { authorization: basicOf(clientId, clientSecret) } : {}),
      },
      body: new URLSearchParams(form).toString(),
      secrets: [clientSecret, ...secretMembers.flatMap((name) => grant[name] ?? [])],
    },
    { provider, kindOf: ({ text, status }) => kindOfError(text, status, provider) },
    { ...ports, call: ports.callApi },
  );
  return readGrant(jsonOf(response.text, provider), provider);
}

const secretMembers = ['code', 'code_verifier', 'refresh_token'] as const;

/** Section 2.3.1: both are form-encoded before they are joined. */
function basicOf(clientId: string, clientSecret: string): string {
  const encoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encoded(clientId)}:${encoded(clientSecret)}`).toString('base64')}`;
}

/** Section 5.2. Text of such a response is never repeated: it is about tokens. */
function kindOfError(text: string, status: number, provider: string): ProviderFaultKind | null {
  if (status < 400 || status >= 500 || status === 429) return null;
  const error = ifDocumented(() => jsonOf(text, provider).member('error').string());
  return error === null || refusals.includes(error) ? 'auth_failed' : null;
}

const refusals: readonly string[] = [
  'invalid_grant',
  'invalid_client',
  'unauthorized_client',
  'access_denied',
];

function jsonOf(text: string, provider: string): Json {
  try {
    return new Json(JSON.parse(text), provider);
  } catch {
    throw new ProviderFault('unavailable', `${provider} did not respond to a token request with JSON.`);
  }
}

function readGrant(json: Json, provider: string): TokenGrant {
  const type = json.member('token_type').string();
  if (type.toLowerCase() !== 'bearer') {
    throw new ProviderFault('unavailable', `${provider} gave a token that is no bearer token.`);
  }
  return {
    accessToken: usable(json.member('access_token').string(), provider),
    refreshToken: json.optional('refresh_token')?.string() ?? null,
    expiresInS: json.optional('expires_in')?.number() ?? null,
  };
}

/** RFC 6750, section 2.1: other characters are not allowed in the header. */
function usable(token: string, provider: string): string {
  if (/^[\x21-\x7e]{1,16384}$/.test(token)) return token;
  throw new ProviderFault('unavailable', `${provider} gave a token that cannot be sent.`);
}
