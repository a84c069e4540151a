import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { LyingOrders, type Told } from './lying-orders';
import { type LocalCertificate, makeLocalCertificate } from './certificates';

/** Replaces the correct response by another one, or writes raw bytes and returns null. */
export type Lie = (truth: Told, socket: Duplex) => Told | null;

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly jws: { readonly protected: string; readonly payload: string; readonly signature: string } | null;
}

let certificate: LocalCertificate | undefined;

/**
 * An ACME server on loopback that checks no signatures and can send false responses at any path. The request is
 * carried out first: only its response is false, not its effect.
 */
export class LyingServer {
  readonly requests: Request[] = [];
  connections = 0;
  readonly #lies = new Map<string, Lie>();
  readonly #sockets = new Set<Duplex>();

  private constructor(
    readonly tlsRoot: string,
    readonly orders: LyingOrders,
    private readonly server: Server,
  ) {}

  static async start(): Promise<LyingServer> {
    certificate ??= makeLocalCertificate();
    const { key, certificate: cert, root } = certificate;
    const server = createServer({ key, cert });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const orders = new LyingOrders(`https://localhost:${port}`, `${cert}${root}`);
    return new LyingServer(root, orders, server).#serve();
  }

  get host(): string {
    return new URL(this.directoryUrl).host;
  }

  get directoryUrl(): string {
    return this.url('/directory');
  }

  url(path: string): string {
    return `${this.orders.base}${path}`;
  }

  /** Replaces every response at the path from now on. */
  lie(path: string, lie: Lie): this {
    this.#lies.set(path, lie);
    return this;
  }

  lieOnce(path: string, lie: Lie): this {
    return this.lie(path, (truth, socket) => {
      this.#lies.delete(path);
      return lie(truth, socket);
    });
  }

  tellTheTruth(): void {
    this.#lies.clear();
  }

  asked(path: string): number {
    return this.requests.filter((request) => request.path === path).length;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #serve(): this {
    this.server.on('connection', (socket: Duplex) => {
      this.connections += 1;
      this.#sockets.add(socket.on('close', () => this.#sockets.delete(socket)));
    });
    // Many specs break connections on purpose.
    this.server.on('tlsClientError', () => undefined);
    this.server.on('secureConnection', (socket: Duplex) => socket.on('error', () => undefined));
    this.server.on('request', (request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (part: string) => (body += part));
      request.on('end', () => {
        const { method = '', url: path = '' } = request;
        const jws = body === '' ? null : (JSON.parse(body) as Request['jws']);
        this.requests.push({ method, path, jws });
        const truth = this.orders.answer({ method, path, jws });
        const lie = this.#lies.get(path);
        const told = lie === undefined ? truth : lie(truth, request.socket);
        if (told === null) return;
        response.writeHead(told.status, { 'content-length': Buffer.byteLength(told.body), ...told.headers });
        response.end(method === 'HEAD' ? '' : told.body);
      });
    });
    return this;
  }
}

/** The response as bytes on the wire. */
export function octetsOf({ status, headers, body }: Told, isDelimited = true): Buffer {
  const all = isDelimited ? { ...headers, 'content-length': String(Buffer.byteLength(body)) } : headers;
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`HTTP/1.1 ${status} Told\r\n${lines.join('')}\r\n${body}`);
}

/** Sends the first bytes of the response, then cuts the connection. */
export function cutAfter(count: number, isDelimited = true): Lie {
  return (truth, socket) => {
    socket.write(octetsOf(truth, isDelimited).subarray(0, count), () => socket.destroy());
    return null;
  };
}

/** Never responds. */
export const silence: Lie = () => null;

/** The correct response with changed fields. */
export function but(change: Partial<Told> | ((truth: Told) => Partial<Told>)): Lie {
  return (truth) => ({ ...truth, ...(typeof change === 'function' ? change(truth) : change) });
}

/** The correct response with changed JSON members. */
export function withMembers(members: Readonly<Record<string, unknown>>): Lie {
  return but(({ body }) => ({ body: JSON.stringify({ ...(JSON.parse(body) as object), ...members }) }));
}
