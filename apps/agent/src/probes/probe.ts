import { createHash, type X509Certificate } from 'node:crypto';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { PlainDialogue } from './plain-dialogue';
import { ProbeError, shown } from './probe-error';
import { type StartTls, startTls } from './starttls';

export interface ProbeTarget {
  /** `host:port`; IPv6 addresses in brackets. */
  readonly address: string;
  /** Sent as SNI, unless it is an IP address (RFC 6066, section 3). */
  readonly serverName: string;
  /** Absent: TLS from the first byte. */
  readonly starttls?: StartTls;
  /** For a server with a certificate of each type: offers only signatures of this one. Absent: the server selects. */
  readonly keyType?: 'rsa' | 'ecdsa';
}

export interface ProbeResult {
  /** SHA-256 over the DER of the leaf that the server sent, in hexadecimal; null when it sent none. */
  readonly sha256: string | null;
  /** One line of printable ASCII, at most 300 characters; null when a leaf was received. */
  readonly problem: string | null;
}

export interface ProbeOptions {
  /** For everything from the connection to the end of the handshake. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Connects as a visitor would and returns the certificate that is served. Nothing about it is verified: whether it is
 * the expected one is decided by its hash. Never throws; failures are in `problem`.
 */
export async function probe(target: ProbeTarget, options: ProbeOptions): Promise<ProbeResult> {
  let socket: Socket | undefined;
  let timer: NodeJS.Timeout | undefined;
  let abort: (() => void) | undefined;
  try {
    const { host, port } = readAddress(target.address);
    const interrupted = new Promise<never>((_, reject) => {
      const limit = `${options.timeoutMs / 1000} s`;
      timer = setTimeout(() => reject(new ProbeError(`no TLS handshake within ${limit}`)), options.timeoutMs);
      abort = () => reject(new ProbeError('the probe was cancelled'));
      options.signal?.addEventListener('abort', abort);
      if (options.signal?.aborted === true) abort();
    });
    // It may also reject when no step waits for it any more.
    interrupted.catch(() => undefined);
    socket = connect({ host, port, noDelay: true });
    const sha256 = await Promise.race([servedLeaf(socket, target), interrupted]);
    return { sha256, problem: null };
  } catch (error) {
    socket?.destroy();
    return { sha256: null, problem: shown(`${target.address}: ${reasonOf(error)}`, 300) };
  } finally {
    clearTimeout(timer);
    if (abort !== undefined) options.signal?.removeEventListener('abort', abort);
  }
}

async function servedLeaf(socket: Socket, target: ProbeTarget): Promise<string> {
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  if (target.starttls === undefined) return await handshake(socket, target, '');
  const dialogue = new PlainDialogue(socket);
  const { begin, goodbye } = startTls[target.starttls];
  await begin(dialogue);
  dialogue.end();
  return await handshake(socket, target, goodbye);
}

/** @param goodbye sent through TLS, so that mail servers do not log a lost connection */
async function handshake(socket: Socket, target: ProbeTarget, goodbye: string): Promise<string> {
  const secure = connectTls({
    socket,
    servername: isIP(target.serverName) === 0 ? target.serverName : '',
    // Certificates that have expired or are not trusted here must be reported too.
    rejectUnauthorized: false,
    secureContext: contextFor(target.keyType),
  });
  let leaf: X509Certificate | undefined;
  // Keys are derived after the certificate was received.
  secure.on('keylog', () => (leaf ??= secure.getPeerX509Certificate()));
  await new Promise<void>((resolve, reject) => {
    secure.once('secureConnect', resolve);
    secure.once('error', (error: NodeJS.ErrnoException) => {
      if (leaf !== undefined && wantsClientCertificate.test(error.code ?? '')) resolve();
      else reject(error);
    });
    secure.once('close', () =>
      reject(new ProbeError('the server closed the connection during the handshake')),
    );
  });
  leaf = secure.getPeerX509Certificate() ?? leaf;
  closeWith(secure, socket, goodbye);
  if (leaf === undefined) throw new ProbeError('the server sent no certificate');
  return createHash('sha256').update(leaf.raw).digest('hex');
}

/**
 * Alerts by which servers end a handshake of a client without a certificate: OpenSSL, others, TLS 1.3. Visitors have one.
 * A server whose key is not that of its certificate fails in other ways.
 */
const wantsClientCertificate = /_ALERT_(?:HANDSHAKE_FAILURE|BAD_CERTIFICATE|CERTIFICATE_REQUIRED)$/;

const contexts = new Map<ProbeTarget['keyType'], SecureContext>();

/** One for all probes: each takes 0.1 ms and 15 KiB. */
function contextFor(keyType: ProbeTarget['keyType']): SecureContext {
  let context = contexts.get(keyType);
  if (context === undefined) {
    const sigalgs = keyType === undefined ? {} : { sigalgs: signatures[keyType] };
    context = createSecureContext({ minVersion: 'TLSv1.2', ...sigalgs });
    contexts.set(keyType, context);
  }
  return context;
}

/** RFC 8446, section 4.2.3, as OpenSSL names them. */
const signatures = {
  rsa: 'rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:rsa_pss_rsae_sha512:RSA+SHA256:RSA+SHA384:RSA+SHA512',
  ecdsa: 'ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512',
} as const;

/** ms. For the last bytes to leave; the result does not wait for them. */
const lingerMs = 500;

function closeWith(secure: TLSSocket, socket: Socket, goodbye: string): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
  // What happens to the connection from here on does not matter.
  secure.on('error', () => undefined).once('close', () => clearTimeout(timer));
  socket.unref();
  secure.resume().end(goodbye);
}

function readAddress(address: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([0-9A-Fa-f:.]+(?:%\w+)?)\]|([^\s:[\]]+)):(\d{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port < 1 || port > 65_535) {
    throw new ProbeError('not an address; write host:port, such as 127.0.0.1:443 or [::1]:443');
  }
  return { host, port };
}

function reasonOf(error: unknown): string {
  // Each address of a name was tried.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  if (!(error instanceof Error)) return String(error);
  const { code, reason } = error as NodeJS.ErrnoException & { readonly reason?: string };
  if (error instanceof ProbeError) return error.message;
  if (code === 'ECONNREFUSED') return 'connection refused; no server listens there';
  if (code === 'ECONNRESET') return 'the server closed the connection during the handshake';
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
    return 'the response is not TLS; set starttls, or enable TLS in the server';
  }
  return reason === undefined ? error.message : `TLS handshake failed: ${reason}`;
}
