import { isIP } from 'node:net';
import type { FieldFault } from '@certwright/errors';
import { type AddressGuard, OutboundFault, portRefusal } from '@certwright/outbound';
import type { EndpointUrl } from '@certwright/webhooks';

/** No name is looked up, so there is no wait. */
const boundMs = 1_000;

/**
 * Reports at once what every delivery would be rejected for. Names are checked when they are resolved, at each
 * delivery: their current addresses may change.
 */
export class DeliverableUrls {
  constructor(private readonly guard: AddressGuard) {}

  /** @param url undefined: omitted */
  async faultsOf(url: EndpointUrl | undefined): Promise<readonly FieldFault[]> {
    if (url === undefined) return [];
    // Without a port in it the URL has the scheme's own, which is open.
    const { port } = new URL(url.url);
    const refusal = port === '' ? null : portRefusal(Number(port));
    if (refusal !== null) return [{ field: 'url', code: 'invalid_value', message: refusal }];
    if (!isLiteral(url.hostname)) return [];
    try {
      await this.guard.addressesOf(url.hostname, AbortSignal.timeout(boundMs));
      return [];
    } catch (error) {
      if (!(error instanceof OutboundFault)) throw error;
      return [{ field: 'url', code: 'invalid_value', message: error.message }];
    }
  }
}

/** @param hostname as a URL writes it */
function isLiteral(hostname: string): boolean {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  return isIP(bare) !== 0 || bare === 'localhost' || bare.endsWith('.localhost');
}
