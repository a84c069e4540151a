/** Limits of one server process. */
export interface DnsServerLimits {
  /** Maximum datagrams under way; more are dropped, and clients retry. Default 2,000. */
  readonly udpInFlight: number;
  /** Maximum open TCP connections; a further one replaces another, see `Connections`. Default 100. */
  readonly tcpConnections: number;
  /** From one message on a connection to the end of the next, in milliseconds. Default 10,000. */
  readonly tcpIdleMs: number;
  /** Time for responses under way at close, in milliseconds. Default 2,000. */
  readonly closeGraceMs: number;
}

export const DEFAULT_LIMITS: DnsServerLimits = {
  udpInFlight: 2_000,
  tcpConnections: 100,
  tcpIdleMs: 10_000,
  closeGraceMs: 2_000,
};

/**
 * Maximum request over TCP. Below 18,245 on purpose: the letters of an HTTP method read as a length are at least that
 * ("GE" is 0x4745, "PO" is 0x504F), so a web page that makes a browser post an UPDATE to this port is cut off after
 * two bytes.
 */
export const TCP_REQUEST_BYTES = 16_384;
