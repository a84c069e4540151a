import type { IntegrationOwner } from '@certwright/gateway-contract';
import type { AuditIntent } from '../audit/audit-entry';
import type { Asking } from './asking';

/** Who changes, and through which integration: the part of an entry that every change has. */
export const changeOf = (
  { account, integration_id: integrationId, provider }: IntegrationOwner,
  { requestId, client }: Asking,
): Pick<AuditIntent, 'requestId' | 'client' | 'account' | 'integrationId' | 'provider'> => ({
  requestId,
  client,
  account,
  integrationId,
  provider,
});
