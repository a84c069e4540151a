import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Responder } from '../responder';
import { Connections } from './connections';
import { type DnsServerLimits, TCP_REQUEST_BYTES } from './limits';

/** Handles length-prefixed messages on one address and port (RFC 7766), one at a time per connection. */
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
    // A client may close its half after the last query and still wait for the response.
    const server = createServer({ allowHalfOpen: true });
    const listener = new TcpListener(server, responder, limits, onError);
    server.listen(port, host);
    await once(server, 'listening');
    return listener;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Accepts no more connections, waits for messages under way within the grace period, and cuts the rest. */
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
    // Not socket.setTimeout(), which every byte resets.
    const idle = setTimeout(() => socket.destroy(), this.limits.tcpIdleMs);
    socket.on('close', () => {
      clearTimeout(idle);
      this.#connections.remove(connection);
    });
    // A reset also ends the loop below.
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
          // No response: on a connection, the client does not speak DNS.
          if (response === undefined) return;
          // Continue reading only when the client reads its responses, so that memory per connection is bounded.
          if (!socket.write(framed(response))) await drained(socket);
          connection.busy = false;
          this.#connections.spoke(connection);
          idle.refresh();
        }
        if (this.#closing) return;
      }
    } catch {
      // The connection was closed by the client, the idle limit, or close().
    } finally {
      connection.busy = false;
      socket.end(() => socket.destroy());
    }
  }
}

/** Resolves when written data has been sent, or the connection is closed. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    // A closed connection emits no more events.
    if (socket.destroyed) return resolve();
    const wake = () => {
      socket.off('drain', wake).off('close', wake);
      resolve();
    };
    socket.on('drain', wake).on('close', wake);
  });
}

/** Splits a stream into messages, each with a two-byte length prefix (RFC 1035 section 4.2.2). */
class Frames {
  #buffered: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): void {
    this.#buffered = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk]);
  }

  /** The next complete message; `undefined` while incomplete; `'too long'` when over the limit. */
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
