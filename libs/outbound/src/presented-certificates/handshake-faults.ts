import { OutboundFault } from '../outbound-fault';
import type { ServerFlight } from './server-flight';

/** How a handshake came to its end. */
export type HandshakeEnding =
  | { readonly kind: 'finished' }
  /** What the server sent was not accepted here; the code is Node's. An alert of the server comes so as well. */
  | { readonly kind: 'objection'; readonly code: string }
  /** The server closed the connection, or it broke. */
  | { readonly kind: 'closed' }
  | { readonly kind: 'too_long' }
  | { readonly kind: 'late' };

/** RFC 8446 §6.2. What the server means by them is its own words, so only the usual ones are told. */
const alerts: Readonly<Record<number, string>> = {
  40: 'it has no certificate for this name, or no cipher in common (handshake_failure)',
  49: 'access is denied (access_denied)',
  70: 'it speaks neither TLS 1.2 nor TLS 1.3 (protocol_version)',
  71: 'the ciphers are not to its liking (insufficient_security)',
  80: 'it has a problem of its own (internal_error)',
  112: 'it does not know the name that was asked for (unrecognized_name)',
  116: 'it wants a client certificate (certificate_required)',
};

/** Why there are no certificates to look at. The sentence holds nothing that the server sent. */
export function handshakeFault(where: string, ending: HandshakeEnding, flight: ServerFlight): OutboundFault {
  const fault = (words: string) => new OutboundFault('tls', `${where} ${words}.`);
  if (flight.isTls === false) return fault('answers with something that is not TLS');
  if (flight.alert !== null) {
    const words = alerts[flight.alert];
    return fault(`refused the handshake${words === undefined ? '' : `: ${words}`}`);
  }
  switch (ending.kind) {
    case 'too_long':
      return new OutboundFault('too_large', `${where} sent far more than a TLS handshake is long.`);
    case 'late':
      return new OutboundFault('timeout', `${where} did not complete the TLS handshake in time.`);
    case 'closed':
      return fault('closed the connection in the middle of the TLS handshake');
    case 'objection':
      if (ending.code === 'ERR_SSL_UNSUPPORTED_PROTOCOL') return fault('speaks neither TLS 1.2 nor TLS 1.3');
      return fault(
        flight.certificates === null
          ? 'did not get through a TLS handshake'
          : 'presents a certificate, but its private key seems to be that of another one',
      );
    case 'finished':
      throw new Error('a handshake was finished whose certificates cannot be read');
  }
}
