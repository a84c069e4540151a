import { Problem } from '@certwright/errors';
import { OutboundFault } from '@certwright/outbound';
import type { ProviderPorts } from './dns-provider';

/**
 * Refuses a host that is never connected to: this is an error of the request, not of the server. A host whose lookup
 * fails temporarily is accepted; each connection checks its addresses again.
 *
 * @param field the request's field with the host, such as `credentials.server`
 * @throws Problem `bad_request` naming the field
 */
export async function checkCustomerHost(
  field: string,
  host: string,
  { guard }: Pick<ProviderPorts, 'guard'>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await guard.addressesOf(host, signal);
  } catch (error) {
    if (!(error instanceof OutboundFault) || (error.kind !== 'bad_url' && error.kind !== 'refused_address'))
      return;
    throw Problem.ofFields([{ field, code: 'invalid_value', message: error.message }]);
  }
}
