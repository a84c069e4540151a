import { AddressGuard } from '@certwright/outbound';
import type { ProviderPorts } from '../dns-provider';
import { customerCall } from '../http/customer-call';
import { platformCall, usualBounds } from '../http/platform-call';
import type { ApiServer } from './api-server';

export interface TestPortsOptions {
  /** The API under test. While it is configured to be silent, the time limit of a call is short. */
  readonly server?: Pick<ApiServer, 'isSilent'>;
  readonly now?: () => Date;
}

/** Must not elapse on the slowest machine, except while the API is silent. */
const timeoutMs = { usual: 20_000, whileSilent: 100 } as const;

/** The real ports, with loopback allowed and without delays between attempts. */
export function testPorts({ server, now = () => new Date() }: TestPortsOptions = {}): ProviderPorts {
  const guard = new AddressGuard({ allowedNetworks: ['127.0.0.0/8', '::1/128'] });
  const bounds = {
    ...usualBounds,
    get timeoutMs() {
      return server?.isSilent === true ? timeoutMs.whileSilent : timeoutMs.usual;
    },
  };
  return {
    callApi: platformCall(bounds),
    callCustomer: customerCall(guard, bounds),
    guard,
    now,
    rest: async (_, signal) => {
      signal.throwIfAborted();
      await new Promise<void>((resolve) => setImmediate(resolve));
    },
  };
}
