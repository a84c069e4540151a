import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { Deadline } from './deadline';
import { connectFault, tlsFault } from './fault-messages';
import type { Target } from './target';

/** How the server's certificate is verified. */
export interface TlsTrust {
  /**
   * False: any certificate is accepted, as CAs do when they follow a redirect to https, since the host may have no
   * certificate yet. Nothing confidential may be sent then. Default: true.
   */
  readonly verify?: boolean;
  /** Additional roots, PEM, for private CAs and specs. */
  readonly extraRoots?: readonly string[];
}

export interface Connection {
  readonly socket: Socket;
  /** The checked address. */
  readonly address: string;
}

/** An address that does not respond must leave time for the next. */
const maxAttemptMs = 3_000;

/**
 * Opens a connection to the first address that accepts one. There is no second lookup, so the connection goes to what
 * was checked.
 *
 * @throws OutboundFault `connect` or `tls`; the deadline's reason
 */
export async function openConnection(
  target: Target,
  addresses: readonly string[],
  trust: TlsTrust,
  deadline: Deadline,
): Promise<Connection> {
  const { socket, address } = await connectToFirst(target, addresses, deadline);
  if (!target.secure) return { socket, address };
  try {
    return { socket: await secured(socket, target, trust, deadline), address };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function connectToFirst(
  { hostname, port }: Target,
  addresses: readonly string[],
  deadline: Deadline,
): Promise<Connection> {
  let last: unknown;
  for (const [at, address] of addresses.entries()) {
    const withinMs = Math.min(maxAttemptMs, deadline.leftMs() / (addresses.length - at));
    try {
      // The last address may use all the remaining time; the deadline's error then states the total.
      const isLast = at === addresses.length - 1;
      return { socket: await tcp(address, port, isLast ? null : withinMs, deadline), address };
    } catch (error) {
      deadline.signal.throwIfAborted();
      last = error;
    }
  }
  throw connectFault(`${hostname} port ${port}`, addresses.length, last);
}

/** @param withinMs null: only the deadline */
export async function tcp(
  address: string,
  port: number,
  withinMs: number | null,
  deadline: Deadline,
): Promise<Socket> {
  return await deadline.bound<Socket>((resolve, reject) => {
    const socket = connect({ host: address, port, noDelay: true });
    if (withinMs !== null) {
      socket.setTimeout(withinMs, () => {
        socket.destroy(Object.assign(new Error('connecting took too long'), { code: 'ETIMEDOUT' }));
      });
    }
    socket.on('error', reject).once('connect', () => resolve(socket.setTimeout(0)));
    return () => socket.destroy();
  });
}

async function secured(
  socket: Socket,
  { hostname, port }: Target,
  trust: TlsTrust,
  deadline: Deadline,
): Promise<Socket> {
  // RFC 6066 §3: a server name has no trailing dot and is not an address.
  const identity = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  return await deadline.bound<Socket>((resolve, reject) => {
    const tls = connectTls({
      socket,
      host: identity,
      ...(isIP(identity) === 0 ? { servername: identity } : {}),
      secureContext: secureContextOf(trust),
      rejectUnauthorized: trust.verify ?? true,
      ALPNProtocols: ['http/1.1'],
    });
    tls.on('error', (error) => reject(tlsFault(`${hostname} port ${port}`, error)));
    tls.once('secureConnect', () => resolve(tls));
    return () => tls.destroy();
  });
}

let defaultContext: SecureContext | undefined;

/**
 * Created once: reading the roots is the most expensive part of a connection. It keeps no sessions, so connections
 * are independent.
 */
function secureContextOf({ extraRoots = [] }: TlsTrust): SecureContext {
  if (extraRoots.length > 0) {
    return createSecureContext({ minVersion: 'TLSv1.2', ca: [...rootCertificates, ...extraRoots] });
  }
  return (defaultContext ??= createSecureContext({ minVersion: 'TLSv1.2' }));
}
