/**
 * Kinds of failures: `refused_address` a special-purpose address, `bad_url` nothing was tried, `dns` no addresses,
 * `connect` no TCP connection, `tls` no TLS or an invalid certificate, `timeout` the total time is over, `too_large`
 * a header or transfer over its limit (a long body is cut instead), `protocol` no complete HTTP response.
 */
export type OutboundFaultKind =
  'refused_address' | 'bad_url' | 'dns' | 'connect' | 'tls' | 'timeout' | 'too_large' | 'protocol';

/**
 * Why a request to a customer-chosen address has no response. The message is a sentence for that customer: it never
 * contains bytes from the other side, credentials, or addresses that only our resolver knows.
 */
export class OutboundFault extends Error {
  constructor(
    readonly kind: OutboundFaultKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'OutboundFault';
  }
}

export const isTimeout = (error: unknown): boolean =>
  error instanceof OutboundFault && error.kind === 'timeout';
