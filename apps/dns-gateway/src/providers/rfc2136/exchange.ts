import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { ProviderFault } from '../provider-fault';

export interface ServerAddress {
  /** Checked IP address; there is no lookup here. */
  readonly address: string;
  readonly port: number;
}

/** Milliseconds. */
export interface Timeouts {
  /** One timeout per datagram. The same datagram is sent again, because datagrams get lost. */
  readonly udpMs: readonly number[];
  /** From the connection's first byte to the response's last, at any rate. */
  readonly tcpMs: number;
}

export const defaultTimeouts: Timeouts = { udpMs: [1_000, 2_000], tcpMs: 5_000 };

/**
 * Classification of a message. Anyone can send UDP messages, so an ignored one does not end the wait (RFC 8945,
 * section 5.3); `why` ends the sentence "The server's answer …".
 */
export type Classified<T> =
  | { readonly accepted: T }
  | { readonly truncated: true }
  /** `otherwise`: its meaning if it were authentic; reported when no better response arrives. */
  | { readonly ignored: true; readonly why: string; readonly otherwise?: ProviderFault };

export type Classify<T> = (message: Buffer) => Classified<T>;

/** RFC 1035, section 4.2.1. EDNS is not offered; UPDATE does not need it. */
const maxDatagramBytes = 512;

/**
 * One request and its response over UDP. Uses TCP when the request exceeds a datagram, the response was truncated,
 * or none arrived. The request may be sent several times, so it must be repeatable.
 *
 * @throws ProviderFault `unavailable`; the signal's reason
 */
export async function exchange<T>(
  server: ServerAddress,
  request: Buffer,
  classify: Classify<T>,
  timeouts: Timeouts,
  signal: AbortSignal,
): Promise<T> {
  const overUdp =
    request.length <= maxDatagramBytes
      ? await sendOverUdp(server, request, classify, timeouts.udpMs, signal)
      : null;
  if (overUdp !== null && 'accepted' in overUdp) return overUdp.accepted;
  const overTcp = await sendOverTcp(server, request, classify, timeouts.tcpMs, signal);
  if ('accepted' in overTcp) return overTcp.accepted;
  if ('otherwise' in overTcp && overTcp.otherwise !== undefined) throw overTcp.otherwise;
  const why =
    'why' in overTcp ? overTcp.why : overUdp !== null && 'why' in overUdp ? overUdp.why : 'is cut short';
  throw new ProviderFault('unavailable', why === 'none' ? noResponse : `The DNS server's answer ${why}.`);
}

const noResponse = 'The DNS server did not respond in time, or cannot be reached.';
const nothing = { ignored: true, why: 'none' } as const;

/** From a random port chosen by the kernel; connected, so that the kernel drops datagrams from other sources. */
async function sendOverUdp<T>(
  { address, port }: ServerAddress,
  request: Buffer,
  classify: Classify<T>,
  waitsMs: readonly number[],
  signal: AbortSignal,
): Promise<Classified<T>> {
  signal.throwIfAborted();
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  const waiting = new Promise<Classified<T>>((resolve, reject) => {
    let last: Classified<T> = nothing;
    const waits = [...waitsMs];
    let timer: NodeJS.Timeout | undefined;
    let closed = false;
    const send = (): void => {
      if (closed) return;
      const waitMs = waits.shift();
      if (waitMs === undefined) return resolve(last);
      socket.send(request);
      timer = setTimeout(send, waitMs);
    };
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    socket.on('message', (message) => {
      const classified = classify(message);
      if ('ignored' in classified) last = classified;
      else resolve(classified);
    });
    socket.on('error', () => resolve(last));
    socket.once('close', () => {
      closed = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    });
    // A callback of connect() would also get its error, such as ENETUNREACH; without one, it is emitted.
    socket.once('connect', send).connect(port, address);
  });
  try {
    return await waiting;
  } finally {
    socket.close();
  }
}

/** On its own connection (RFC 7766), whose first message must be the response. */
async function sendOverTcp<T>(
  { address, port }: ServerAddress,
  request: Buffer,
  classify: Classify<T>,
  withinMs: number,
  signal: AbortSignal,
): Promise<Classified<T>> {
  signal.throwIfAborted();
  const socket = connect({ host: address, port });
  const end = (): void => void socket.destroy();
  const timer = setTimeout(end, withinMs);
  signal.addEventListener('abort', end, { once: true });
  try {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(request.length);
    socket.write(Buffer.concat([length, request]));
    let received: Buffer = Buffer.alloc(0);
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) continue;
      return classify(received.subarray(2, 2 + received.readUInt16BE(0)));
    }
  } catch {
    // Refused, reset or too slow: there is no response, and no further detail to report.
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    socket.destroy();
  }
  signal.throwIfAborted();
  return nothing;
}
