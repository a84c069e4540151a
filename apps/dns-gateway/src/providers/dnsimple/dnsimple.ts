import { Problem } from '@certwright/errors';
import type { CredentialKind } from '@certwright/gateway-contract';
import {
  bearerKind,
  keptMember,
  type MemberRule,
  oauthCodeKind,
  oauthCodeMembers,
  readMembers,
  visibleAscii,
} from '../credential-members';
import type { DnsProvider, ProviderPorts, ProviderSession } from '../dns-provider';
import { type Authorization, bearer, fixed, JsonApi } from '../http/json-api';
import { authorizationUrl } from '../oauth/oauth-access';
import type { OauthClientSettings } from '../operator';
import { recordChanges } from '../records/record-changes';
import { accountOf, DnsimpleClient, reading } from './dnsimple-client';

export interface DnsimpleOptions {
  /** Base URLs of both environments. Without a trailing slash. Default: the real ones. */
  readonly baseUrl?: string;
  /** Authorization page for customers. Default: https://app.dnsimple.com/oauth */
  readonly oauthUrl?: string;
  /** Null, the default: customers use their own tokens only. */
  readonly oauth?: OauthClientSettings | null;
}

const title = 'DNSimple';

const advice =
  'Make an account access token (Account, "Access Tokens"), never a user access token, and scope it to the zones you want ' +
  'certificates for, with write access to their records and no access to domains, contacts or billing. On plans without ' +
  'scoped tokens a token reaches the whole account: keep such zones in an account of their own.';

const members: readonly MemberRule[] = [
  { name: 'token', meaning: 'an account access token', secret: true, required: true, ...visibleAscii },
  {
    name: 'environment',
    meaning: 'production (default) or sandbox',
    secret: false,
    required: false,
    shape: /^(production|sandbox)$/,
    shapeDescription: 'production or sandbox',
  },
];

/** DNSimple requires the `state` again with the code. */
const stateMember: MemberRule = {
  name: 'state',
  meaning: 'the state that the browser was sent with',
  secret: false,
  required: true,
  ...visibleAscii,
};

const baseUrls: ReadonlyMap<string, string> = new Map([
  ['production', 'https://api.dnsimple.com/v2'],
  ['sandbox', 'https://api.sandbox.dnsimple.com/v2'],
]);

/** DNSimple's API, version 2: an object for every record; no compare-and-swap. */
export function dnsimpleProvider(options: DnsimpleOptions = {}): DnsProvider {
  const { oauth = null, oauthUrl = 'https://app.dnsimple.com/oauth' } = options;
  const codeMembers = [...oauthCodeMembers, stateMember];
  const kinds: readonly CredentialKind[] = [
    bearerKind(members),
    // DNSimple has no scopes: the customer must enter an account.
    ...(oauth === null
      ? []
      : [oauthCodeKind(authorizationUrl(`${oauthUrl}/authorize`, oauth, ''), [stateMember])]),
  ];
  const open = (
    authorization: Authorization,
    environment: string,
    ports: ProviderPorts,
    signal: AbortSignal,
  ): JsonApi => {
    const baseUrl = options.baseUrl ?? baseUrls.get(environment) ?? 'https://api.dnsimple.com/v2';
    const { callApi: call, now, rest } = ports;
    const authorizer = fixed(authorization);
    return new JsonApi({ provider: title, baseUrl, authorizer, call, now, rest, signal, ...reading });
  };
  return {
    name: 'dnsimple',
    title,
    advice,
    credentialKinds: () => kinds,
    async accept(credentials, _account, ports, signal) {
      const given = readMembers(credentials, {
        bearer: members,
        ...(oauth === null ? {} : { oauth_code: codeMembers }),
      });
      if (credentials.type === 'oauth_code' && oauth !== null) {
        const secrets = [oauth.clientSecret, given['code'] ?? '', given['code_verifier'] ?? ''];
        const api = open({ headers: {}, secrets }, 'production', ports, signal);
        return { environment: 'production', ...(await authorizedBy(api, oauth, given)) };
      }
      const { token = '', environment = 'production' } = given;
      // Every path contains the account, and only an account token belongs to one.
      const account = await accountOf(open(bearer(token), environment, ports, signal));
      if (account === null) throw userToken();
      return { token, environment, account };
    },
    session(kept, _account, ports, signal): ProviderSession {
      const json = open(bearer(keptMember(kept, 'token')), keptMember(kept, 'environment'), ports, signal);
      const api = new DnsimpleClient(json, keptMember(kept, 'account'));
      return { zones: () => api.zones(), ...recordChanges(api, signal), renewed: () => null };
    },
  };
}

const userToken = (): Problem =>
  Problem.ofFields([
    {
      field: 'credentials.token',
      code: 'invalid_value',
      message: 'credentials.token must be an account access token, not that of a user.',
    },
  ]);

/** Stored data of an authorization. */
interface Authorized {
  readonly token: string;
  readonly account: string;
}

/**
 * Redeems the code (https://developer.dnsimple.com/v2/oauth/). The token is valid until the customer revokes it;
 * there is no refresh token. The `state` must be sent again.
 *
 * @throws ProviderFault
 */
async function authorizedBy(
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
