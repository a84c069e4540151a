import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { Responder } from '../responder';
import type { DnsServerLimits } from './limits';

/** Handles datagrams on one address and port. */
export class UdpListener {
  readonly #socket: Socket;
  readonly #work = new Idle();
  #closing = false;

  private constructor(
    socket: Socket,
    private readonly responder: Responder,
    private readonly limits: DnsServerLimits,
    onError: (error: Error) => void,
  ) {
    this.#socket = socket;
    socket.on('error', onError);
    socket.on('message', (message, from) => void this.#receive(message, from));
  }

  static async open(
    host: string,
    port: number,
    responder: Responder,
    limits: DnsServerLimits,
    onError: (error: Error) => void,
  ): Promise<UdpListener> {
    const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(port, host, () => {
        socket.removeListener('error', reject);
        resolve();
      });
    });
    return new UdpListener(socket, responder, limits, onError);
  }

  /** Accepts no more datagrams, and closes after those under way or the grace period. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#work.reached(this.limits.closeGraceMs);
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()));
  }

  async #receive(message: Buffer, { address, port }: RemoteInfo): Promise<void> {
    // Only forged datagrams come from port 0, and send() throws on it.
    if (this.#closing || port === 0 || this.#work.count >= this.limits.udpInFlight) return;
    this.#work.begin();
    try {
      const response = await this.responder.respond(message, { address, port, transport: 'udp' });
      // A datagram that cannot be sent counts as lost; the client retries.
      if (response !== undefined)
        await new Promise((sent) => this.#socket.send(response, port, address, sent));
    } catch {
      // send() throws on a closed socket, when this response took longer than the grace period.
    } finally {
      this.#work.end();
    }
  }
}

/** Counts work under way, and waits until there is none. */
class Idle {
  #count = 0;
  #waiting: (() => void)[] = [];

  get count(): number {
    return this.#count;
  }

  begin(): void {
    this.#count++;
  }

  end(): void {
    this.#count--;
    if (this.#count > 0) return;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves once nothing is under way, or after `limitMs`. */
  async reached(limitMs: number): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
