import { AddressGuard } from '@certwright/outbound';
import type { ProviderPorts } from '../dns-provider';
import { customerCall } from '../http/customer-call';
import { platformCall, usualBounds } from '../http/platform-call';

export interface TestPortsOptions {
  /** Of one exchange. Default: 2000. */
  readonly timeoutMs?: number;
  readonly now?: () => Date;
}

/** The real ports, with loopback allowed, short bounds, and rests that end at once. */
export function testPorts({
  timeoutMs = 2_000,
  now = () => new Date(),
}: TestPortsOptions = {}): ProviderPorts {
  const guard = new AddressGuard({ allowedNetworks: ['127.0.0.0/8', '::1/128'] });
  const bounds = { ...usualBounds, timeoutMs };
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
