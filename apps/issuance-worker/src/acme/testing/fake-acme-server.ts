import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { FakeAcmeOrders, type FakeResponse } from './fake-acme-orders';
import { type LocalCertificate, makeLocalCertificate } from './certificates';

/** Replaces the correct response by another one, or writes raw bytes and returns null. */
export type Override = (correct: FakeResponse, socket: Duplex) => FakeResponse | null;

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
export class FakeAcmeServer {
  readonly requests: Request[] = [];
  connections = 0;
  readonly #overrides = new Map<string, Override>();
  readonly #sockets = new Set<Duplex>();

  private constructor(
    readonly tlsRoot: string,
    readonly orders: FakeAcmeOrders,
    private readonly server: Server,
  ) {}

  static async start(): Promise<FakeAcmeServer> {
    certificate ??= makeLocalCertificate();
    const { key, certificate: cert, root } = certificate;
    const server = createServer({ key, cert });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const orders = new FakeAcmeOrders(`https://localhost:${port}`, `${cert}${root}`);
    return new FakeAcmeServer(root, orders, server).#serve();
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
  override(path: string, override: Override): this {
    this.#overrides.set(path, override);
    return this;
  }

  overrideOnce(path: string, override: Override): this {
    return this.override(path, (correct, socket) => {
      this.#overrides.delete(path);
      return override(correct, socket);
    });
  }

  clearOverrides(): void {
    this.#overrides.clear();
  }

  requestCount(path: string): number {
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
        const correct = this.orders.answer({ method, path, jws });
        const override = this.#overrides.get(path);
        const sent = override === undefined ? correct : override(correct, request.socket);
        if (sent === null) return;
        response.writeHead(sent.status, { 'content-length': Buffer.byteLength(sent.body), ...sent.headers });
        response.end(method === 'HEAD' ? '' : sent.body);
      });
    });
    return this;
  }
}

/** The response as bytes on the wire. */
export function bytesOf({ status, headers, body }: FakeResponse, isDelimited = true): Buffer {
  const all = isDelimited ? { ...headers, 'content-length': String(Buffer.byteLength(body)) } : headers;
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`HTTP/1.1 ${status} Fake\r\n${lines.join('')}\r\n${body}`);
}

/** Sends the first bytes of the response, then cuts the connection. */
export function cutAfter(count: number, isDelimited = true): Override {
  return (correct, socket) => {
    socket.write(bytesOf(correct, isDelimited).subarray(0, count), () => socket.destroy());
    return null;
  };
}

/** Never responds. */
export const silence: Override = () => null;

/** The correct response with changed fields. */
export function altered(
  change: Partial<FakeResponse> | ((correct: FakeResponse) => Partial<FakeResponse>),
): Override {
  return (correct) => ({ ...correct, ...(typeof change === 'function' ? change(correct) : change) });
}

/** The correct response with changed JSON members. */
export function withMembers(members: Readonly<Record<string, unknown>>): Override {
  return altered(({ body }) => ({ body: JSON.stringify({ ...(JSON.parse(body) as object), ...members }) }));
}
