/** What one server process lets its askers use. */
export interface DnsServerLimits {
  /** Datagrams being answered at once; more are dropped, and their askers try again. Default 2,000. */
  readonly udpInFlight: number;
  /** TCP connections open at once; a further one takes the place of another, see `Connections`. Default 100. */
  readonly tcpConnections: number;
  /**
   * From one message on a connection to the end of the next, in milliseconds, however slowly it trickles. Default
   * 10,000.
   */
  readonly tcpIdleMs: number;
  /** How long answers under way may still take at close, in milliseconds. Default 2,000. */
  readonly closeGraceMs: number;
}

export const DEFAULT_LIMITS: DnsServerLimits = {
  udpInFlight: 2_000,
  tcpConnections: 100,
  tcpIdleMs: 10_000,
  closeGraceMs: 2_000,
};

/**
 * Bytes of a request over TCP. Below 18,245 on purpose: that and more is what the letters of an HTTP method announce
 * ("GE" is 0x4745, "PO" is 0x504F) when read as a length, so a web page that makes a browser post an UPDATE message
 * to this port is cut off at its first two bytes.
 */
export const TCP_REQUEST_BYTES = 16_384;
