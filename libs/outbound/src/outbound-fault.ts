/**
 * What went wrong, closed: `refused_address` a special-purpose address, `bad_url` nothing was tried, `dns` no addresses,
 * `connect` no TCP connection, `tls` no TLS or a certificate that does not hold, `timeout` the time in all was up,
 * `too_large` a header or transfer beyond its bound (a long body is cut instead), `protocol` no complete HTTP answer.
 */
export const outboundFaultKinds = [
  'refused_address',
  'bad_url',
  'dns',
  'connect',
  'tls',
  'timeout',
  'too_large',
  'protocol',
] as const;

export type OutboundFaultKind = (typeof outboundFaultKinds)[number];

/**
 * Why a request to somebody's address has no answer. The message is a sentence for the customer who named the address:
 * it never holds bytes that the other side sent, credentials, or addresses that only our resolver knows.
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
