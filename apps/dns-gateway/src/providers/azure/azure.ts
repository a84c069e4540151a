import { described, keptMember, type MemberRule, readMembers } from '../credential-members';
import type { DnsProvider } from '../dns-provider';
import { externalIdOf } from '../external-id';
import { AccessTokens } from '../oauth/access-tokens';
import type { AzureSettings } from '../operator';
import { ProviderFault } from '../provider-fault';
import { rrsetChanges } from '../records/rrset-changes';
import { AzureAuthorizer } from './azure-authorizer';
import { AzureClient, externalIdTag } from './azure-client';

export interface AzureOptions {
  /** Default: https://management.azure.com */
  readonly baseUrl?: string;
  /** Microsoft Entra ID. Default: https://login.microsoftonline.com */
  readonly loginUrl?: string;
  /** Null: the provider is unavailable. */
  readonly azure: (AzureSettings & { readonly externalIdSecret: string }) | null;
}

const title = 'Azure DNS';
const advice =
  'Let the application of this service into your tenant (an administrator grants consent to its client id, without any ' +
  'API permission), give it the role "DNS Zone Contributor" on the zones that certificates are for, each zone by itself, ' +
  `and tag each of these zones "${externalIdTag}" with the external id: zones without that tag are not touched. ` +
  'No role on the resource group or the subscription is needed.';

const guid: Pick<MemberRule, 'shape' | 'shapeDescription'> = {
  shape: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  shapeDescription: 'a GUID such as 00000000-0000-0000-0000-000000000000',
};
const rules: readonly MemberRule[] = [
  {
    name: 'tenant_id',
    meaning: 'the directory (tenant) id of Microsoft Entra ID',
    secret: false,
    required: true,
    ...guid,
  },
  {
    name: 'subscription_id',
    meaning: 'the subscription that the zones are in',
    secret: false,
    required: true,
    ...guid,
  },
];

/** https://learn.microsoft.com/en-us/rest/api/dns/ */
export function azureProvider(options: AzureOptions): DnsProvider {
  const {
    baseUrl = 'https://management.azure.com',
    loginUrl = 'https://login.microsoftonline.com',
    azure,
  } = options;
  const tokens = new AccessTokens();
  return {
    name: 'azure',
    title,
    advice,
    credentialKinds: (account) => {
      if (azure === null) return [];
      const external_id = externalIdOf(azure.externalIdSecret, 'azure', account);
      const kind = { type: 'cloud_account', members: described(rules), authorization_url: null } as const;
      return [{ ...kind, principal: azure.clientId, external_id }];
    },
    async accept(credentials) {
      const members = readMembers(credentials, azure === null ? {} : { cloud_account: rules });
      return { type: 'cloud_account', ...members };
    },
    session(kept, account, ports, signal) {
      if (azure === null) {
        throw new ProviderFault('auth_failed', `This service has no application at ${title} any more.`);
      }
      const tenant = keptMember(kept, 'tenant_id');
      const authorizer = new AzureAuthorizer({ loginUrl, azure, tenant }, tokens, ports, signal);
      const place = {
        baseUrl,
        subscription: keptMember(kept, 'subscription_id'),
        externalId: externalIdOf(azure.externalIdSecret, 'azure', account),
      };
      const client = new AzureClient(place, authorizer, ports, signal);
      return { zones: () => client.zones(), ...rrsetChanges(client, ports, signal), renewed: () => null };
    },
  };
}
