import { OutboundFault } from '../outbound-fault';
import type { ServerFlight } from './server-flight';

/** How a handshake ended. */
export type HandshakeEnding =
  | { readonly kind: 'finished' }
  /** OpenSSL rejected what the server sent, or the server sent an alert; the code is Node's. */
  | { readonly kind: 'objection'; readonly code: string }
  /** The server closed the connection, or it broke. */
  | { readonly kind: 'closed' }
  | { readonly kind: 'too_long' }
  | { readonly kind: 'late' };

/** Alerts of RFC 8446 §6.2. Servers differ in their use, so only the usual ones are reported. */
const alerts: Readonly<Record<number, string>> = {
  40: 'it has no certificate for this name, or no cipher in common (handshake_failure)',
  49: 'access is denied (access_denied)',
  70: 'it speaks no version from TLS 1.0 to TLS 1.3 (protocol_version)',
  71: 'it requires stronger ciphers (insufficient_security)',
  80: 'it has an internal error (internal_error)',
  112: 'it does not know the requested name (unrecognized_name)',
  116: 'it requires a client certificate (certificate_required)',
};

/** Why there are no certificates. The message contains nothing that the server sent. */
export function handshakeFault(where: string, ending: HandshakeEnding, flight: ServerFlight): OutboundFault {
  const fault = (message: string) => new OutboundFault('tls', `${where} ${message}.`);
  if (flight.isTls === false) return fault('answers with something that is not TLS');
  if (flight.alert !== null) {
    const reason = alerts[flight.alert];
    return fault(`refused the handshake${reason === undefined ? '' : `: ${reason}`}`);
  }
  switch (ending.kind) {
    case 'too_long':
      return new OutboundFault('too_large', `${where} sent more data than a TLS handshake needs.`);
    case 'late':
      return new OutboundFault('timeout', `${where} did not complete the TLS handshake in time.`);
    case 'closed':
      return fault('closed the connection in the middle of the TLS handshake');
    case 'objection':
      if (ending.code === 'ERR_SSL_UNSUPPORTED_PROTOCOL')
        return fault('speaks no version from TLS 1.0 to TLS 1.3');
      return fault(
        flight.certificates === null
          ? 'failed the TLS handshake'
          : 'presents a certificate, but apparently has the private key of another one',
      );
    case 'finished':
      throw new Error('the certificates of a finished handshake cannot be read');
  }
}
