import type { JsonApi } from '../http/json-api';
import type { OauthClientSettings } from '../operator';

/** Stored data of an authorization. */
export interface Authorized {
  readonly token: string;
  readonly account: string;
}

/**
 * Redeems the code (https://developer.dnsimple.com/v2/oauth/). The token is valid until the customer revokes it;
 * there is no refresh token. The `state` must be sent again.
 *
 * @throws ProviderFault
 */
export async function authorizedBy(
  api: JsonApi,
  { clientId, clientSecret, redirectUri }: OauthClientSettings,
  { code, code_verifier, state }: Readonly<Record<string, string>>,
): Promise<Authorized> {
  const { json } = await api.request({
    method: 'POST',
    path: '/oauth/access_token',
    body: {
      grant_type: 'authorization_code',
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uri: redirectUri,
      code,
      state,
      ...(code_verifier === undefined ? {} : { code_verifier }),
    },
  });
  return { token: json.member('access_token').string(), account: json.member('account_id').id() };
}
