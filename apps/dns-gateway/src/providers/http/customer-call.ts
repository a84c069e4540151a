import { type AddressGuard, guardedRequest, OutboundFault } from '@certwright/outbound';
import { ProviderFault } from '../provider-fault';
import type { CallApi } from './call-api';
import { type CallBounds, hostOf, usualBounds } from './platform-call';

/** Calls a host chosen by a customer: checks the address and connects to the checked address. */
export function customerCall(guard: AddressGuard, bounds: CallBounds = usualBounds): CallApi {
  return async ({ method, url, headers, body }, signal) => {
    const { timeoutMs, maxBytes: maxResponseBytes } = bounds;
    try {
      const response = await guardedRequest(guard, {
        method,
        url,
        headers,
        body,
        timeoutMs,
        maxResponseBytes,
        signal,
      });
      if (response.truncated) throw tooLong(url, maxResponseBytes);
      return {
        status: response.status,
        headers: flat(response.headers),
        text: response.body.toString('utf8'),
      };
    } catch (error) {
      signal.throwIfAborted();
      throw asProviderFault(error, url);
    }
  };
}

function asProviderFault(error: unknown, url: string): ProviderFault {
  if (error instanceof ProviderFault) return error;
  if (error instanceof OutboundFault) {
    const forGood = error.kind === 'refused_address' || error.kind === 'bad_url';
    return new ProviderFault(forGood ? 'rejected' : 'unavailable', error.message);
  }
  // The header cannot be sent. The error may contain a credential, so it is not passed on.
  return new ProviderFault(
    'rejected',
    `The request to ${hostOf(url)} cannot be sent with these credentials.`,
  );
}

const tooLong = (url: string, maxBytes: number): ProviderFault =>
  new ProviderFault('unavailable', `The response of ${hostOf(url)} is longer than ${maxBytes} bytes.`);

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as const],
  );
  return Object.fromEntries(entries);
}
