import type { CredentialKeys } from '../credentials/credential-keys';
import type { Providers } from '../integrations/integration-access';

/** What the description is made of. */
export class Describing {
  constructor(
    readonly credentialKeys: CredentialKeys,
    readonly providers: Providers,
  ) {}
}
