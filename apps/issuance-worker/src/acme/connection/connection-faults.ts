import { AcmeFault, notAcme } from '../acme-fault';
import { RefusedAddress } from './guarded-lookup';

/** Error codes of undici, OpenSSL and the system; any other code is a failed connection. */
const timeouts: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

const garbage: ReadonlyMap<string, string> = new Map([
  ['UND_ERR_HEADERS_OVERFLOW', 'its header is too long'],
  ['HPE_HEADER_OVERFLOW', 'its header is too long'],
  ['UND_ERR_RES_EXCEEDED_MAX_SIZE', 'it is too long'],
  ['UNDELIMITED', 'it does not say how long it is, so that it may have been cut'],
]);

/** No connection was established. */
const unconnected: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED']);

const failures: ReadonlyMap<string, string> = new Map([
  ['ENOTFOUND', 'its name has no address'],
  ['EAI_AGAIN', 'its name could not be looked up'],
  ['ECONNREFUSED', 'it refuses connections'],
  ['ECONNRESET', 'the connection was cut'],
  ['EPIPE', 'the connection was cut'],
  ['UND_ERR_SOCKET', 'the connection was cut'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'the connection was cut'],
]);

/** The message never contains data from the server; undici's own messages quote it. */
export function connectionFault(error: Error, responding: boolean): AcmeFault {
  const code = codeOf(error);
  if (error instanceof RefusedAddress)
    return new AcmeFault('refused_url', `The ACME server cannot be queried: ${error.message}`);
  if (timeouts.has(code))
    return tookTooLong(code === 'UND_ERR_CONNECT_TIMEOUT' ? 'connecting' : 'its response');
  const what = garbage.get(code);
  if (what !== undefined) {
    const lasting = code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE';
    return notAcme(`The ACME server's response is not acceptable: ${what}.`, { lasting });
  }
  // Some parser errors have no code.
  if (code.startsWith('HPE_') || error.name === 'HTTPParserError')
    return notAcme('The ACME server does not speak HTTP.');
  const why = failures.get(code) ?? tlsFailure(code) ?? 'the connection failed';
  const when = responding
    ? 'The ACME server did not finish its response'
    : 'No response from the ACME server';
  // No `cause`: its message may quote received data.
  const fault = new AcmeFault('unreachable', `${when}: ${why}.`);
  fault.neverSent = unconnected.has(code);
  return fault;
}

export function tookTooLong(what: string): AcmeFault {
  return new AcmeFault('timeout', `The ACME server did not respond in time: ${what} took too long.`);
}

/** @returns null when TLS is not the cause */
function tlsFailure(code: string): string | null {
  // Errors of the protocol itself, such as a server without TLS, an old version, or one that wants a client certificate.
  if (code.startsWith('ERR_SSL_')) return 'the TLS handshake failed';
  const isOfCertificate = /CERT|SIGNATURE|ISSUER|^ERR_TLS_/.test(code);
  return isOfCertificate ? 'its TLS certificate is not trusted or is for another name' : null;
}

function codeOf(error: Error): string {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  if (typeof code === 'string') return code;
  return cause instanceof Error ? codeOf(cause) : '';
}
