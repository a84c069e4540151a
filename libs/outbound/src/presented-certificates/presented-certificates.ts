import type { Socket } from 'node:net';
import type { AddressGuard } from '../addresses/address-guard';
import { isTimeout, OutboundFault } from '../outbound-fault';
import { tcp } from '../request/connection';
import { Deadline } from '../request/deadline';
import { connectFault } from '../request/fault-messages';
import { handshakeFault } from './handshake-faults';
import { shakeHands } from './handshake';

export interface CertificateViewing {
  /** IP address. */
  readonly address: string;
  readonly port: number;
  /** Requested server name (SNI, RFC 6066 §3): a DNS name without trailing dot. */
  readonly serverName: string;
  /** For the connection and the handshake together, milliseconds. */
  readonly timeoutMs: number;
  /** Maximum number of bytes to read from the server. */
  readonly maxBytes: number;
  /** When it aborts, its reason is thrown. */
  readonly signal?: AbortSignal;
}

/**
 * The certificates that a TLS server presents, DER, exactly as in its Certificate message: in its order, including
 * unrelated ones, trusted or not.
 *
 * Node does not provide them: `getPeerCertificate(true)` follows issuers, so it misses a certificate out of place, or
 * the second of two that certify the same key (Node 20 and 24), and returns nothing after a handshake that fails
 * because there is no client certificate. So OpenSSL performs the handshake, in any version that browsers support,
 * and its input is recorded: up to TLS 1.2 the message is clear text; for TLS 1.3 the `keylog` event provides the
 * handshake secret. The handshake is completed, so that a server without the private key is detected and the server
 * logs no broken connection.
 *
 * @returns at least one
 * @throws OutboundFault `refused_address`; `connect`; `tls`, `too_large` or `timeout` once there was a connection
 */
export async function presentedCertificates(
  guard: AddressGuard,
  { address, port, serverName, timeoutMs, maxBytes, signal }: CertificateViewing,
): Promise<readonly Buffer[]> {
  const checked = guard.checkedAddress(address);
  const where = `${checked} port ${port}`;
  const deadline = new Deadline(timeoutMs, signal);
  try {
    const socket = await connected(where, checked, port, deadline);
    const { ending, flight } = await shakeHands(socket, { serverName, maxBytes, deadline });
    // A server that closes after presenting them wants a client certificate, or nothing more.
    const isRefusedHere = ending.kind === 'objection' && flight.alert === null;
    if (flight.certificates !== null && !isRefusedHere) return flight.certificates;
    throw handshakeFault(where, ending, flight);
  } finally {
    deadline.end();
  }
}

async function connected(where: string, address: string, port: number, deadline: Deadline): Promise<Socket> {
  try {
    return await tcp(address, port, null, deadline);
  } catch (error) {
    if (isTimeout(error))
      throw new OutboundFault('connect', `${where} did not accept the connection in time.`);
    deadline.signal.throwIfAborted();
    throw connectFault(where, 1, error);
  }
}
