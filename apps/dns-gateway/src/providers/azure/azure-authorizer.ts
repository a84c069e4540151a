import type { ProviderPorts } from '../dns-provider';
import { type Authorization, type Authorizer, bearer } from '../http/json-api';
import type { AccessTokens, HeldToken } from '../oauth/access-tokens';
import { clientCredentials, type TokenGrant } from '../oauth/token-endpoint';
import type { AzureSettings } from '../operator';
import { ProviderFault } from '../provider-fault';

export interface TenantAccess {
  readonly loginUrl: string;
  readonly azure: AzureSettings;
  readonly tenant: string;
}

const scope = 'https://management.azure.com/.default';
const grantWithinMs = 25_000;

/** The application's own access to a tenant that admitted it; tokens are cached by tenant. */
export class AzureAuthorizer implements Authorizer {
  #used: HeldToken | null = null;
  #renewals = 0;

  constructor(
    private readonly access: TenantAccess,
    private readonly tokens: AccessTokens,
    private readonly ports: ProviderPorts,
    private readonly signal: AbortSignal,
  ) {}

  async authorization(): Promise<Authorization> {
    const { now } = this.ports;
    const used = await this.tokens.get(this.access.tenant, () => this.grant(), { now, signal: this.signal });
    this.#used = used;
    return bearer(used.accessToken);
  }

  renew(): boolean {
    if (this.#used === null || this.#renewals > 0) return false;
    this.#renewals += 1;
    this.tokens.refused(this.#used);
    return true;
  }

  private async grant(): Promise<TokenGrant> {
    const { loginUrl, azure, tenant } = this.access;
    const endpoint = {
      provider: 'Microsoft Entra ID',
      tokenUrl: `${loginUrl}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`,
      client: azure,
      clientAuthentication: 'form',
    } as const;
    const signal = AbortSignal.timeout(grantWithinMs);
    try {
      return await clientCredentials(endpoint, scope, { ...this.ports, signal });
    } catch (error) {
      if (error !== signal.reason) throw error;
      throw new ProviderFault('unavailable', 'Microsoft Entra ID returned no token in time.');
    }
  }
}
