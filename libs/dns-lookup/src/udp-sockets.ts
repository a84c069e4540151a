import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { type DnsQuery, matchQuery } from './query';

export interface Server {
  /** IP address. */
  readonly host: string;
  readonly port: number;
}

export type Exchanged =
  | { readonly response: Buffer }
  /** `other_case`: a response, but not in the letter case of the query. */
  | { readonly failed: 'timeout' | 'unreachable' | 'aborted' | 'other_case' };

/** Open ports; each query is sent from a random one. */
const POOL_SIZE = 8;
/** Queries sent from one port before it is replaced by a new random one. */
const USES_PER_SOCKET = 128;

interface Waiting {
  readonly query: DnsQuery;
  readonly settle: (outcome: Exchanged) => void;
}

/**
 * Sockets to one server, kept open since opening one costs more than a look-up. Each is connected, so the kernel
 * drops packets from elsewhere and reports when nothing listens. They do not keep the process alive.
 */
export class UdpSockets {
  readonly #open: PooledSocket[] = [];

  constructor(private readonly server: Server) {}

  /** @returns the response to the query, or the reason why there is none; never rejects. */
  async exchange(query: DnsQuery, timeoutMs: number, signal?: AbortSignal): Promise<Exchanged> {
    if (signal?.aborted) return { failed: 'aborted' };
    const socket = this.#pick(query.id);
    return new Promise((resolve) => {
      const settle = (outcome: Exchanged) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        socket.forget(query.id);
        resolve(outcome);
      };
      const abort = () => settle({ failed: 'aborted' });
      const timer = setTimeout(() => settle({ failed: 'timeout' }), timeoutMs);
      signal?.addEventListener('abort', abort, { once: true });
      socket.send({ query, settle });
    });
  }

  /** Look-ups in progress end as aborted. */
  close(): void {
    for (const socket of this.#open.splice(0)) socket.close('aborted');
  }

  /** A socket on which the id is free: the id identifies the response. */
  #pick(id: number): PooledSocket {
    const candidate = this.#open[randomInt(POOL_SIZE)];
    if (candidate !== undefined && !candidate.isWaitingFor(id) && candidate.uses < USES_PER_SOCKET) {
      return candidate;
    }
    const socket = new PooledSocket(this.server, () => {
      const at = this.#open.indexOf(socket);
      if (at !== -1) this.#open.splice(at, 1);
    });
    if (this.#open.length >= POOL_SIZE) this.#open.splice(randomInt(POOL_SIZE), 1)[0]?.retire();
    this.#open.push(socket);
    return socket;
  }
}

/** One port. Once retired or failed it takes no more queries, and closes when no query is waiting. */
class PooledSocket {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #connected: Promise<void>;
  #retired = false;
  #closed = false;
  uses = 0;

  constructor(
    { host, port }: Server,
    private readonly onGone: () => void,
  ) {
    this.#socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    this.#socket.unref();
    this.#socket.on('message', (response) => this.#receive(response));
    this.#socket.on('error', () => this.close('unreachable'));
    // A callback of connect() would also get its error, such as ENETUNREACH; without one, it is emitted.
    this.#connected = new Promise((resolve) => this.#socket.once('connect', resolve));
    this.#socket.connect(port, host);
  }

  isWaitingFor(id: number): boolean {
    return this.#waiting.has(id);
  }

  send(waiting: Waiting): void {
    this.uses++;
    this.#waiting.set(waiting.query.id, waiting);
    void this.#connected.then(() => {
      // An error of send() arrives as 'error' too; without a callback it is not thrown.
      if (!this.#closed) this.#socket.send(waiting.query.message);
    });
  }

  forget(id: number): void {
    this.#waiting.delete(id);
    if (this.#retired && this.#waiting.size === 0) this.close('aborted');
  }

  retire(): void {
    this.#retired = true;
    if (this.#waiting.size === 0) this.close('aborted');
  }

  close(reason: 'unreachable' | 'aborted'): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onGone();
    this.#socket.close();
    for (const { settle } of [...this.#waiting.values()]) settle({ failed: reason });
  }

  #receive(response: Buffer): void {
    if (response.length < 2) return;
    const waiting = this.#waiting.get(response.readUInt16BE(0));
    if (waiting === undefined) return;
    const verdict = matchQuery(response, waiting.query);
    if (verdict === 'yes') waiting.settle({ response });
    else if (verdict === 'other_case') waiting.settle({ failed: 'other_case' });
  }
}
