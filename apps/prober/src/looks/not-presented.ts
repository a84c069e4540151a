import type { NotPresented, NotPresentedReason } from '@certwright/endpoint-checks';
import { OutboundFault, type OutboundFaultKind } from '@certwright/outbound';

/** Hosts are looked up before, and no response is read: the last three cannot occur. */
const reasonOf = {
  refused_address: 'refused_address',
  connect: 'connect',
  tls: 'handshake',
  timeout: 'timeout',
  too_large: 'too_large',
  bad_url: 'internal',
  dns: 'internal',
  protocol: 'internal',
} as const satisfies Record<OutboundFaultKind, NotPresentedReason>;

/**
 * Why nothing was presented, as a message for the customer.
 *
 * @param signal of the whole look; once its time is up, that is the reason
 * @returns null for an internal error
 */
export function notPresented(error: unknown, signal: AbortSignal): NotPresented | null {
  if (signal.aborted && error === signal.reason)
    return { kind: 'not_presented', reason: 'busy', problem: 'There was no response in time.' };
  if (!(error instanceof OutboundFault)) return null;
  const reason = reasonOf[error.kind];
  // The network matters only to the operator of the prober: it may differ from the customer's.
  const problem = reason === 'refused_address' ? 'This is not a public address.' : error.message;
  return { kind: 'not_presented', reason, problem };
}
