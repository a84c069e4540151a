import type { CredentialKind } from '@certwright/gateway-contract';
import {
  bearerKind,
  keptMember,
  type MemberRule,
  oauthCodeKind,
  oauthCodeMembers,
  readMembers,
  visibleAscii,
} from './credential-members';
import type { DnsProvider, KeptCredentials, ProviderPorts, ProviderSession } from './dns-provider';
import { type Authorization, bearer, fixed, JsonApi, type JsonReading } from './http/json-api';
import { authorizationUrl, OauthAccess } from './oauth/oauth-access';
import type { TokenEndpoint } from './oauth/token-endpoint';
import type { OauthClientSettings } from './operator';
import { ProviderFault } from './provider-fault';

/** A provider's OAuth parameters, as it documents them. */
export interface OauthOffer extends Pick<TokenEndpoint, 'tokenUrl' | 'clientAuthentication'> {
  /** Null: the operator has no registration there. */
  readonly client: OauthClientSettings | null;
  /** Authorization URL for the browser. */
  readonly authorizeUrl: string;
  readonly scope: string;
  /** Parameters of `authorizeUrl` beyond RFC 6749, section 4.1.1. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Members that customers give besides the code; they are stored. */
  readonly members?: readonly MemberRule[];
}

export interface TokenProviderOptions extends Pick<DnsProvider, 'name' | 'title' | 'advice'> {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** The token that customers provide, described for them; null: OAuth only. */
  readonly token: string | null;
  /** Default: a bearer token (RFC 6750). */
  readonly authorizationOf?: (token: string) => Authorization;
  readonly oauth?: OauthOffer;
  readonly reading: JsonReading;
  open(
    api: JsonApi,
    ports: ProviderPorts,
    signal: AbortSignal,
    kept: KeptCredentials,
  ): Omit<ProviderSession, 'renewed'>;
}

/** A provider with a JSON API and token authentication: with a customer's token, with OAuth, or with either. */
export function tokenProvider(options: TokenProviderOptions): DnsProvider {
  const { name, title, advice, baseUrl, authorizationOf = bearer, oauth, reading } = options;
  const rules = options.token === null ? null : [tokenRule(options.token)];
  const more = oauth?.members ?? [];
  const access = accessOf(title, oauth);
  const kinds = [...(rules === null ? [] : [bearerKind(rules)]), ...codeKinds(oauth)];
  return {
    name,
    title,
    advice,
    credentialKinds: () => kinds,
    async accept(credentials, _account, ports, signal) {
      const members = readMembers(credentials, {
        ...(rules === null ? {} : { bearer: rules }),
        ...(access === null ? {} : { oauth_code: [...oauthCodeMembers, ...more] }),
      });
      if (credentials.type !== 'oauth_code' || access === null) return { type: 'bearer', ...members };
      const kept = await access.accept(members, ports, signal);
      return { ...kept, ...Object.fromEntries(more.map(({ name: own }) => [own, members[own] ?? ''])) };
    },
    session(kept, _account, ports, signal) {
      const authorized =
        kept['type'] === 'oauth' ? registered(title, access).session(kept, ports, signal) : null;
      const authorizer = authorized ?? fixed(authorizationOf(keptMember(kept, 'token')));
      const { callApi: call, now, rest } = ports;
      const api = new JsonApi({ provider: title, baseUrl, authorizer, call, now, rest, signal, ...reading });
      const renewed = () => authorized?.renewed() ?? null;
      return { ...options.open(api, ports, signal, kept), renewed };
    },
  };
}

const tokenRule = (meaning: string): MemberRule => ({
  name: 'token',
  meaning,
  secret: true,
  required: true,
  ...visibleAscii,
});

function accessOf(provider: string, offer: OauthOffer | undefined): OauthAccess | null {
  if (offer === undefined || offer.client === null) return null;
  const { client, tokenUrl, clientAuthentication } = offer;
  return new OauthAccess({ provider, client, tokenUrl, clientAuthentication });
}

function codeKinds(offer: OauthOffer | undefined): readonly CredentialKind[] {
  if (offer === undefined || offer.client === null) return [];
  const { client, authorizeUrl, scope, parameters, members } = offer;
  return [oauthCodeKind(authorizationUrl(authorizeUrl, client, scope, parameters), members)];
}

/** @throws ProviderFault when the operator has removed the registration */
function registered(provider: string, access: OauthAccess | null): OauthAccess {
  if (access !== null) return access;
  throw new ProviderFault('auth_failed', `This service is not registered at ${provider} any more.`);
}
