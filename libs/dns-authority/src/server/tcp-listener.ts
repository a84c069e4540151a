import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Responder } from '../responder';
import { Connections } from './connections';
import { type DnsServerLimits, TCP_REQUEST_BYTES } from './limits';

/** Answers length-prefixed messages on connections to one address and port (RFC 7766), one after another on each. */
export class TcpListener {
  readonly #server: Server;
  readonly #connections: Connections;
  #closing = false;

  private constructor(
    server: Server,
    private readonly responder: Responder,
    private readonly limits: DnsServerLimits,
    onError: (error: Error) => void,
  ) {
    this.#server = server;
    this.#connections = new Connections(limits.tcpConnections);
    server.on('error', onError);
    server.on('connection', (socket) => void this.#serve(socket));
  }

  static async open(
    host: string,
    port: number,
    responder: Responder,
    limits: DnsServerLimits,
    onError: (error: Error) => void,
  ): Promise<TcpListener> {
    // A peer may close its half after its last question and still wait for the answer.
    const server = createServer({ allowHalfOpen: true });
    const listener = new TcpListener(server, responder, limits, onError);
    server.listen(port, host);
    await once(server, 'listening');
    return listener;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Takes no more connections, lets messages under way be answered within the grace, and cuts what is left. */
  async close(): Promise<void> {
    this.#closing = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#connections.cut(({ busy }) => !busy);
    const cut = setTimeout(() => this.#connections.cut(() => true), this.limits.closeGraceMs);
    await closed;
    clearTimeout(cut);
  }

  async #serve(socket: Socket): Promise<void> {
    const connection = this.#connections.add(socket);
    // Not socket.setTimeout(): that starts anew with every byte, and one every few seconds would hold the connection.
    const idle = setTimeout(() => socket.destroy(), this.limits.tcpIdleMs);
    socket.on('close', () => {
      clearTimeout(idle);
      this.#connections.remove(connection);
    });
    // A reset by the peer ends the reading below as well; there is nothing to tell.
    socket.on('error', () => socket.destroy());
    const peer = {
      address: socket.remoteAddress ?? '',
      port: socket.remotePort ?? 0,
      transport: 'tcp',
    } as const;
    const frames = new Frames();
    try {
      for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        frames.push(chunk);
        for (let message = frames.next(); message !== undefined; message = frames.next()) {
          if (message === 'too long' || this.#closing) return;
          connection.busy = true;
          const response = await this.responder.respond(message, peer);
          // What must not be answered over UDP is, on a connection, a peer that does not speak DNS.
          if (response === undefined) return;
          // Reading goes on only when the peer takes its answers: memory per connection stays bounded.
          if (!socket.write(framed(response))) await drained(socket);
          connection.busy = false;
          this.#connections.spoke(connection);
          idle.refresh();
        }
        if (this.#closing) return;
      }
    } catch {
      // The connection is gone: cut by the peer, by the idle limit, or by close().
    } finally {
      connection.busy = false;
      socket.end(() => socket.destroy());
    }
  }
}

/** Resolves when the peer has taken what was written, or is gone. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    // A connection that is gone already says nothing any more.
    if (socket.destroyed) return resolve();
    const wake = () => {
      socket.off('drain', wake).off('close', wake);
      resolve();
    };
    socket.on('drain', wake).on('close', wake);
  });
}

/**
 * What has arrived on a connection: messages with their length in two bytes before them (RFC 1035 section 4.2.2).
 */
class Frames {
  #buffered: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): void {
    this.#buffered = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk]);
  }

  /** The next whole message; `undefined` while it is not there; `'too long'` when it must not be waited for. */
  next(): Buffer | 'too long' | undefined {
    if (this.#buffered.length < 2) return undefined;
    const length = this.#buffered.readUInt16BE(0);
    if (length > TCP_REQUEST_BYTES) return 'too long';
    if (this.#buffered.length < 2 + length) return undefined;
    const message = this.#buffered.subarray(2, 2 + length);
    this.#buffered = this.#buffered.subarray(2 + length);
    return message;
  }
}

function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(2 + message.length);
  frame.writeUInt16BE(message.length, 0);
  message.copy(frame, 2);
  return frame;
}
