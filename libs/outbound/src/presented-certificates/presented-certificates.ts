import type { Socket } from 'node:net';
import type { AddressGuard } from '../addresses/address-guard';
import { isTimeout, OutboundFault } from '../outbound-fault';
import { tcp } from '../request/connection';
import { Deadline } from '../request/deadline';
import { connectFault } from '../request/fault-words';
import { handshakeFault } from './handshake-faults';
import { shakeHands } from './handshake';

export interface CertificateViewing {
  /** IP address. */
  readonly address: string;
  readonly port: number;
  /** The name that the server is asked for (SNI, RFC 6066 §3): a DNS name without trailing dot. */
  readonly serverName: string;
  /** For the connection and the handshake together, milliseconds. */
  readonly timeoutMs: number;
  /** Bytes that are taken from the server. */
  readonly maxBytes: number;
  /** When it aborts, its reason is thrown. */
  readonly signal?: AbortSignal;
}

/**
 * The certificates that a TLS server presents, DER, exactly as they stand in its Certificate message: in its order, with
 * those that belong to no other one, and whether or not anybody would trust them.
 *
 * Node itself does not tell: `getPeerCertificate(true)` follows issuers, so that a certificate out of place, or the
 * second of two that certify the same key, is not seen (Node 20 and 24), and after a handshake that fails for want of a
 * client certificate it tells nothing at all. So OpenSSL shakes hands, in any version that a browser has, while what the
 * server sends is read along on the way to it: up to TLS 1.2 the message is clear text, and for TLS 1.3 the handshake
 * secret comes from OpenSSL by the `keylog` event. The handshake is carried to its end, so that a server that does not
 * hold the private key of what it presents is found out, and nobody finds broken connections in his log.
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
    // A server that breaks off after it has presented them wants a client certificate, or nothing more of us.
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
    if (isTimeout(error)) throw new OutboundFault('connect', `${where} did not take the connection in time.`);
    deadline.signal.throwIfAborted();
    throw connectFault(where, 1, error);
  }
}
