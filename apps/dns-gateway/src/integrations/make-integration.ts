import type { Credentials, GatewayMessages, SealedCredentials } from '@certwright/gateway-contract';
import type { CredentialKeys } from '../credentials/credential-keys';
import { openCredentials } from '../credentials/sealed-credentials';
import type { HandleKeys } from '../handles/handle-keys';
import type { ProviderPorts } from '../providers/dns-provider';
import type { Asking } from './asking';
import { problemOf, providerOf, type Providers } from './integration-access';
import { within } from './request-bounds';

type Message = GatewayMessages['make_integration'];

/** Takes credentials, tries them, and gives them back as a handle that nobody but this gateway opens. */
export class MakeIntegration {
  constructor(
    private readonly handles: HandleKeys,
    private readonly providers: Providers,
    private readonly ports: ProviderPorts,
    private readonly credentialKeys: CredentialKeys,
  ) {}

  async make(
    { credentials: given, ...owner }: Message['request'],
    { signal }: Asking,
  ): Promise<Message['answer']> {
    const provider = providerOf(this.providers, owner.provider);
    const credentials = await this.#plain(given, owner);
    try {
      const kept = await within(signal, provider.accept(credentials, owner.account, this.ports, signal));
      // Before they are tried, so that what no handle can hold is refused without a call.
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
    owner: Omit<Message['request'], 'credentials'>,
  ): Promise<Credentials> {
    if (given.type !== 'sealed') return given;
    return await openCredentials(given as SealedCredentials, owner, this.credentialKeys, this.ports.now());
  }
}
