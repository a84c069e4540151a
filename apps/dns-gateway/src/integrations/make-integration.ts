import type { Credentials, GatewayMessages, SealedCredentials } from '@certwright/gateway-contract';
import { Inject, Injectable } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { CredentialKeys } from '../credentials/credential-keys';
import { openCredentials } from '../credentials/sealed-credentials';
import { HandleKeys } from '../handles/handle-keys';
import { ProviderPorts } from '../providers/dns-provider';
import { Providers } from '../providers/registry';
import { problemOf, providerOf } from './integration-access';
import { type RequestContext, within } from './request-bounds';

type Request = GatewayMessages['make_integration']['request'];
type Result = GatewayMessages['make_integration']['answer'];

@ApiSchema({ name: 'Integration' })
export class IntegrationSchema implements Result {
  @ApiProperty({ description: 'The integration handle.' }) readonly integration: string;
}

/** Tests credentials at the provider and returns them as a handle that only this gateway opens. */
@Injectable()
export class MakeIntegration {
  constructor(
    private readonly handles: HandleKeys,
    @Inject(Providers) private readonly providers: Providers,
    @Inject(ProviderPorts) private readonly ports: ProviderPorts,
    @Inject(CredentialKeys) private readonly credentialKeys: CredentialKeys,
  ) {}

  async make(
    { credentials: given, ...owner }: Request,
    { signal }: RequestContext,
  ): Promise<IntegrationSchema> {
    const provider = providerOf(this.providers, owner.provider);
    const credentials = await this.#plain(given, owner);
    try {
      const kept = await within(signal, provider.accept(credentials, owner.account, this.ports, signal));
      // Before the test, so that credentials too long for a handle are refused without a call.
      const handle = this.handles.sealIntegration(owner, kept);
      const session = provider.session(kept, owner.account, this.ports, signal);
      await within(signal, session.zones());
      const renewed = session.renewed();
      return { integration: renewed === null ? handle : this.handles.sealIntegration(owner, renewed) };
    } catch (error) {
      throw problemOf(error, signal) ?? error;
    }
  }

  async #plain(
    given: Credentials | SealedCredentials,
    owner: Omit<Request, 'credentials'>,
  ): Promise<Credentials> {
    if (given.type !== 'sealed') return given;
    return await openCredentials(given as SealedCredentials, owner, this.credentialKeys, this.ports.now());
  }
}
