import type { InconclusiveStatus, InconclusiveTest } from '@certwright/jobs';
import { OutboundFault, type OutboundFaultKind } from '@certwright/outbound';

export type Inconclusion = Pick<InconclusiveTest, 'status' | 'problem'>;

/** Up to the TCP connection it is one status, from there on the other. */
const statusOf = {
  refused_address: 'connect_error',
  bad_url: 'connect_error',
  dns: 'connect_error',
  connect: 'connect_error',
  tls: 'handshake_error',
  timeout: 'handshake_error',
  too_large: 'handshake_error',
  protocol: 'handshake_error',
} as const satisfies Record<OutboundFaultKind, InconclusiveStatus>;

/**
 * Why there is no result, as a message for the customer.
 *
 * @param signal of the whole test; once its time is up, that is the reason
 * @returns null for an internal error
 */
export function inconclusion(error: unknown, signal: AbortSignal): Inconclusion | null {
  if (signal.aborted && error === signal.reason)
    return { status: 'connect_error', problem: 'There was no response in time.' };
  if (!(error instanceof OutboundFault)) return null;
  // The network matters only to the operator of the prober: it may differ from the customer's.
  if (error.kind === 'refused_address')
    return { status: 'connect_error', problem: 'This is not a public address.' };
  return { status: statusOf[error.kind], problem: error.message };
}
