import { keptMember } from '../credential-members';
import type { KeptCredentials, ProviderPorts } from '../dns-provider';
import type { Authorization, Authorizer } from '../http/json-api';
import { bearer } from '../http/json-api';
import { AccessTokens, type HeldToken, noLastingToken } from './access-tokens';
import type { OauthClientSettings } from '../operator';
import { ProviderFault } from '../provider-fault';
import {
  exchangeCode,
  refreshToken,
  type TokenEndpoint,
  type TokenGrant,
  type TokenPorts,
} from './token-endpoint';

/** Stored data of an authorization; providers may store more. */
export type KeptOauth = Readonly<Record<'type' | 'refresh_token', string>>;

/** Time limit of a shared exchange: three attempts of ten seconds, and a margin. */
const exchangeWithinMs = 25_000;

/** One provider's OAuth, for all of its sessions in this process. */
export class OauthAccess {
  readonly #tokens = new AccessTokens();

  constructor(private readonly endpoint: TokenEndpoint & { readonly client: OauthClientSettings }) {}

  /**
   * Redeems the code.
   *
   * @throws ProviderFault, also when the returned authorization does not last
   */
  async accept(
    given: Readonly<Record<string, string>>,
    ports: ProviderPorts,
    signal: AbortSignal,
  ): Promise<KeptOauth> {
    const code = { code: given['code'] ?? '', codeVerifier: given['code_verifier'] ?? null };
    const grant = await exchangeCode(this.endpoint, code, { ...tokenPorts(ports), signal });
    if (grant.refreshToken === null) throw noLastingToken(this.endpoint.provider);
    this.#tokens.put(grant.refreshToken, grant, ports.now());
    return { type: 'oauth', refresh_token: grant.refreshToken };
  }

  session(kept: KeptCredentials, ports: ProviderPorts, signal: AbortSignal): OauthSession {
    const held = keptMember(kept, 'refresh_token');
    const ask = (token: string): Promise<TokenGrant> => this.refresh(token, ports);
    return new OauthSession(kept, held, this.#tokens, () =>
      this.#tokens.get(held, ask, { now: ports.now, signal }),
    );
  }

  private async refresh(token: string, ports: ProviderPorts): Promise<TokenGrant> {
    const signal = AbortSignal.timeout(exchangeWithinMs);
    try {
      return await refreshToken(this.endpoint, token, { ...tokenPorts(ports), signal });
    } catch (error) {
      if (error !== signal.reason) throw error;
      throw new ProviderFault('unavailable', `${this.endpoint.provider} returned no new token in time.`);
    }
  }
}

const tokenPorts = ({ callApi, now, rest }: ProviderPorts): Omit<TokenPorts, 'signal'> => ({
  callApi,
  now,
  rest,
});

/**
 * One session's authorization: an access token for every request, and the credentials that the integration must
 * store.
 */
class OauthSession implements Authorizer {
  #used: HeldToken | null = null;
  #renewals = 0;

  constructor(
    private readonly kept: KeptCredentials,
    private readonly refreshToken: string,
    private readonly tokens: AccessTokens,
    private readonly get: () => Promise<HeldToken>,
  ) {}

  async authorization(): Promise<Authorization> {
    const used = (this.#used = await this.get());
    return { headers: bearer(used.accessToken).headers, secrets: [used.accessToken, used.refreshToken] };
  }

  /** Once per session: an access token may have been revoked before its expiry. */
  renew(): boolean {
    if (this.#used === null || this.#renewals > 0) return false;
    this.#renewals += 1;
    this.tokens.refused({ refreshToken: this.refreshToken, accessToken: this.#used.accessToken });
    return true;
  }

  /** Read from the cache: an exchange may have ended after this session stopped waiting for it. */
  renewed(): KeptCredentials | null {
    const successor = this.tokens.successorOf(this.refreshToken);
    return successor === null ? null : { ...this.kept, refresh_token: successor };
  }
}

/** Authorization URL for the customer's browser (RFC 6749, section 4.1.1); the caller appends its own `state`. */
export function authorizationUrl(
  url: string,
  { clientId, redirectUri, scope: ownScope }: OauthClientSettings,
  scope: string,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: ownScope ?? scope,
  };
  return `${url}?${new URLSearchParams({ ...query, ...more })}`;
}
