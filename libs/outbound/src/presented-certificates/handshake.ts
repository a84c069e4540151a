import type { Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { isTimeout } from '../outbound-fault';
import type { Deadline } from '../request/deadline';
import type { HandshakeEnding } from './handshake-faults';
import { readServerFlight, type ServerFlight } from './server-flight';

export interface HandshakeBounds {
  /** SNI; null: none. */
  readonly serverName: string | null;
  /** Maximum number of bytes to read from the server. */
  readonly maxBytes: number;
  readonly deadline: Deadline;
}

/** Time to send the closing alert after a handshake, milliseconds. */
const closeMs = 1_000;

/**
 * Performs one TLS handshake, records what the server sends, and closes the connection.
 *
 * @param whenFinished uses the connection after a handshake that finished, within the deadline; never rejects
 * @throws the reason of the outer signal
 */
export async function shakeHands(
  socket: Socket,
  { serverName, maxBytes, deadline }: HandshakeBounds,
  whenFinished: (tls: TLSSocket) => Promise<void>,
): Promise<{ readonly ending: HandshakeEnding; readonly flight: ServerFlight }> {
  const [near, far] = duplexPair();
  const tls = connectTls({
    socket: near,
    servername: serverName ?? '',
    secureContext: secureContext(),
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
  });
  let secret: Buffer | null = null;
  tls.on('keylog', (line: Buffer) => (secret ??= handshakeSecretIn(line)));
  const recording = new Recording(maxBytes);
  let ending: HandshakeEnding | undefined;
  try {
    ending = await orLate(
      deadline.bound<HandshakeEnding>((resolve) => {
        forward(socket, far, recording, resolve);
        watch(tls, resolve);
        return () => undefined;
      }),
    );
    recording.stop();
    if (ending.kind === 'finished') await whenFinished(tls);
  } finally {
    socket.removeAllListeners('data').pause();
    if (ending?.kind === 'finished') closeTls(tls, far, socket);
    else socket.destroy();
  }
  return { ending, flight: readServerFlight(recording.bytes(), secret) };
}

/** What the server sends during the handshake. */
class Recording {
  readonly #received: Buffer[] = [];
  #length = 0;
  #isOver = false;

  constructor(private readonly maxBytes: number) {}

  /** @returns false beyond the maximum */
  add(chunk: Buffer): boolean {
    if (this.#isOver) return true;
    this.#length += chunk.length;
    if (this.#length > this.maxBytes) return false;
    this.#received.push(chunk);
    return true;
  }

  stop(): void {
    this.#isOver = true;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#received);
  }
}

/** Forwards data between the server and OpenSSL, and records what the server sends. */
function forward(
  socket: Socket,
  far: Duplex,
  recording: Recording,
  resolve: (ending: HandshakeEnding) => void,
): void {
  socket.on('data', (chunk: Buffer) => {
    if (recording.add(chunk)) far.write(chunk);
    else resolve({ kind: 'too_long' });
  });
  // On close or error, OpenSSL first gets all data that came before, and then detects the end itself.
  socket.on('error', () => undefined).once('close', () => far.end());
  far.on('error', () => undefined).on('data', (chunk: Buffer) => socket.write(chunk));
}

function watch(tls: TLSSocket, resolve: (ending: HandshakeEnding) => void): void {
  tls.once('secureConnect', () => resolve({ kind: 'finished' }));
  tls.once('close', () => resolve({ kind: 'closed' }));
  tls.on('error', ({ code = '' }: NodeJS.ErrnoException) =>
    resolve(code.startsWith('ERR_') ? { kind: 'objection', code } : { kind: 'closed' }),
  );
}

async function orLate(ending: Promise<HandshakeEnding>): Promise<HandshakeEnding> {
  try {
    return await ending;
  } catch (error) {
    if (isTimeout(error)) return { kind: 'late' };
    throw error;
  }
}

/** Closes the TLS connection without waiting for the server. */
function closeTls(tls: TLSSocket, far: Duplex, socket: Socket): void {
  const cut = setTimeout(() => socket.destroy(), closeMs);
  socket.once('close', () => clearTimeout(cut));
  far.once('end', () => socket.destroySoon());
  tls.end();
}

let context: SecureContext | undefined;

/**
 * Created once. No roots, since nothing is verified. No finite-field key exchange: browsers have none either, and a
 * server could choose parameters that keep this process busy. Security level 0 accepts weak keys, signatures and
 * versions: the caller evaluates what is presented.
 */
function secureContext(): SecureContext {
  return (context ??= createSecureContext({
    minVersion: 'TLSv1',
    ca: [],
    ciphers: 'DEFAULT:!DHE:@SECLEVEL=0',
    ecdhCurve: 'X25519:P-256:P-384:P-521',
  }));
}

/** NSS key log: label, client random, secret, the latter two in hex. */
function handshakeSecretIn(line: Buffer): Buffer | null {
  const [label, , secret = ''] = line.toString('latin1').trim().split(' ');
  return label === 'SERVER_HANDSHAKE_TRAFFIC_SECRET' ? Buffer.from(secret, 'hex') : null;
}
