import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { Deadline } from './deadline';
import { connectFault, tlsFault } from './fault-words';
import type { Target } from './target';

/** How the certificate of the other side is judged. */
export interface TlsTrust {
  /**
   * False: whatever certificate it has is accepted, as a CA does when it validates over a redirect to https, since the
   * certificate to come may be the first. Nothing confidential may be sent then. Default: true.
   */
  readonly verify?: boolean;
  /** More roots, PEM, besides Node's own; for private CAs, and for specs. */
  readonly extraRoots?: readonly string[];
}

export interface Connection {
  readonly socket: Socket;
  /** The checked address that it goes to. */
  readonly address: string;
}

/** One address that does not answer must leave time for the next. */
const longestAttemptMs = 3_000;

/**
 * A new connection to the first of the addresses that takes one. To the address itself: nothing is looked up again, so
 * what was checked is what is reached.
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
    const withinMs = Math.min(longestAttemptMs, deadline.leftMs() / (addresses.length - at));
    try {
      // The last one may use all the time there is: the deadline then says how long that was.
      const isLast = at === addresses.length - 1;
      return { socket: await tcp(address, port, isLast ? null : withinMs, deadline), address };
    } catch (error) {
      deadline.signal.throwIfAborted();
      last = error;
    }
  }
  throw connectFault(`${hostname} port ${port}`, addresses.length, last);
}

/** @param withinMs null: no bound of its own */
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
  // RFC 6066 §3: the server name is written without the trailing dot, and an address is none.
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

/** Made once: reading the roots is the dearest part of a connection. It holds no sessions, so connections stay apart. */
function secureContextOf({ extraRoots = [] }: TlsTrust): SecureContext {
  if (extraRoots.length > 0) {
    return createSecureContext({ minVersion: 'TLSv1.2', ca: [...rootCertificates, ...extraRoots] });
  }
  return (defaultContext ??= createSecureContext({ minVersion: 'TLSv1.2' }));
}
