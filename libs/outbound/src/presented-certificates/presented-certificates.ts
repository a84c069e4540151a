import { isIPv6, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { AddressGuard } from '../addresses/address-guard';
import { isTimeout, OutboundFault } from '../outbound-fault';
import { tcp } from '../request/connection';
import { Deadline } from '../request/deadline';
import { exchange } from '../request/exchange';
import { connectFault } from '../request/fault-messages';
import { handshakeFault } from './handshake-faults';
import { shakeHands } from './handshake';
import type { Choice } from './server-flight';

export interface CertificateViewing {
  /** IP address. */
  readonly address: string;
  readonly port: number;
  /** Requested server name (SNI, RFC 6066 §3): a DNS name without trailing dot; null: none. */
  readonly serverName: string | null;
  /** Headers of a `HEAD /` after the handshake; null: nothing is requested. */
  readonly headRequest: Readonly<Record<string, string>> | null;
  /** For the connection, the handshake and the request together, milliseconds. */
  readonly timeoutMs: number;
  /** Maximum number of bytes to read from the server. */
  readonly maxBytes: number;
  /** When it aborts, its reason is thrown. */
  readonly signal?: AbortSignal;
}

export interface Presentation extends Choice {
  /** DER, at least one, the leaf first. */
  readonly certificates: readonly Buffer[];
  /** Null: not requested, or no HTTP response. */
  readonly httpStatus: number | null;
}

/** Maximum bytes of a body, which a response to HEAD does not have. */
const maxBodyBytes = 1_024;

const httpsPort = 443;

/**
 * The certificates that a TLS server presents, DER, exactly as in its Certificate message: in its order, including
 * unrelated ones, trusted or not.
 *
 * Node does not provide them: `getPeerCertificate(true)` follows issuers, so it misses a certificate out of place, or
 * the second of two that certify the same key (Node 20 and 24), and returns nothing after a handshake that fails
 * because there is no client certificate. So OpenSSL performs the handshake, in any version from TLS 1.0 on,
 * and its input is recorded: up to TLS 1.2 the message is clear text; for TLS 1.3 the `keylog` event provides the
 * handshake secret. The handshake is completed, so that a server without the private key is detected and the server
 * logs no broken connection.
 *
 * @throws OutboundFault `refused_address`; `connect`; `tls`, `too_large` or `timeout` once there was a connection
 */
export async function presentedCertificates(
  guard: AddressGuard,
  { address, port, serverName, headRequest, timeoutMs, maxBytes, signal }: CertificateViewing,
): Promise<Presentation> {
  const checked = guard.checkedAddress(address);
  const where = `${checked} port ${port}`;
  const deadline = new Deadline(timeoutMs, signal);
  try {
    const socket = await connected(where, checked, port, deadline);
    let httpStatus: number | null = null;
    const { ending, flight } = await shakeHands(socket, { serverName, maxBytes, deadline }, async (tls) => {
      if (headRequest === null) return;
      const host = hostHeader(serverName ?? checked, port);
      httpStatus = await statusOfHead(tls, { ...headRequest, host }, deadline);
    });
    // A server that closes after presenting them wants a client certificate, or nothing more.
    const isRefusedHere = ending.kind === 'objection' && flight.alert === null;
    if (flight.certificates !== null && flight.choice !== null && !isRefusedHere)
      return { ...flight.choice, certificates: flight.certificates, httpStatus };
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

/** RFC 9110 §7.2: with the port unless it is the scheme's default. */
function hostHeader(host: string, port: number): string {
  const bracketed = isIPv6(host) ? `[${host}]` : host;
  return port === httpsPort ? bracketed : `${bracketed}:${port}`;
}

/** Never rejects: the certificates are known, and the status is an addition. */
async function statusOfHead(
  tls: TLSSocket,
  headers: Readonly<Record<string, string>>,
  deadline: Deadline,
): Promise<number | null> {
  const request = { method: 'HEAD', path: '/', headers, body: Buffer.of(), maxResponseBytes: maxBodyBytes };
  try {
    return (await exchange(tls, request, deadline)).status;
  } catch {
    return null;
  }
}
