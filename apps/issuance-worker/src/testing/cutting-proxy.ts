import { createServer, request as httpsRequest, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeLocalCertificate } from '../acme/testing/certificates';

/** `before`: the CA does not receive the request; `after`: it does, and its response is lost. */
export type Cut = 'before' | 'after';

/**
 * The fate of one exchange. `refused`: the proxy responds with that status and the CA does not receive the request.
 * `cut`: the CA does not receive it either. `late`: the response arrives after that time. `dropped`, `hanging`: the
 * CA processes the request, and the connection is cut or falls silent.
 */
export type Fate =
  | { readonly kind: 'passed' | 'cut' | 'dropped' | 'hanging' }
  | { readonly kind: 'refused'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly kind: 'late'; readonly byMs: number };

export interface PassedExchange {
  readonly method: string;
  readonly path: string;
  /** The CA's response, delivered or not. */
  readonly status: number;
}

let certificate: ReturnType<typeof makeLocalCertificate> | undefined;

/** A proxy to a CA on loopback that cuts the exchange a test chooses. All URLs are those of the proxy. */
export class CuttingProxy {
  readonly exchanges: PassedExchange[] = [];
  private count = 0;
  private at = Infinity;
  private when: Cut = 'before';
  struck = false;
  /** Decides about every exchange that `cut` does not affect. */
  fate: (request: Pick<PassedExchange, 'method' | 'path'>) => Fate = () => ({ kind: 'passed' });
  /** Every request that arrived, with any fate. */
  readonly arrived: Pick<PassedExchange, 'method' | 'path'>[] = [];

  private constructor(
    private readonly server: Server,
    readonly tlsRoot: string,
    private readonly target: URL,
    private readonly targetRoot: string,
  ) {}

  static async start(directoryUrl: string, targetRoot: string): Promise<CuttingProxy> {
    certificate ??= makeLocalCertificate();
    const { key, certificate: cert, root } = certificate;
    const server = createServer({ key, cert });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new CuttingProxy(server, root, new URL(directoryUrl), targetRoot);
    server.on('request', (request, response) => void proxy.pass(request, response));
    return proxy;
  }

  get directoryUrl(): string {
    const { port } = this.server.address() as AddressInfo;
    return `https://localhost:${port}${this.target.pathname}`;
  }

  /** Counted from now on; 1 is the next one. */
  cut(nth: number, when: Cut): void {
    this.count = 0;
    this.struck = false;
    this.at = nth;
    this.when = when;
  }

  passAll(): void {
    this.at = Infinity;
  }

  /** Requests to issue that the CA has carried out. */
  get finalized(): number {
    return this.exchanges.filter(({ path, status }) => path.includes('/finalize-order/') && status === 200)
      .length;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.count += 1;
    const strikes = this.count === this.at;
    if (strikes) this.struck = true;
    const { method = 'GET', url: path = '/' } = request;
    this.arrived.push({ method, path });
    const struck: Fate = { kind: this.when === 'before' ? 'cut' : 'dropped' };
    const fate = strikes ? struck : this.fate({ method, path });
    if (fate.kind === 'cut') return void request.socket.destroy();
    const body = await whole(request);
    if (fate.kind === 'refused') return void response.writeHead(fate.status, fate.headers).end();
    this.forward(request, body, (reply, bytes) => {
      if (fate.kind === 'hanging') return;
      if (fate.kind === 'dropped') return void request.socket.destroy();
      const respond = () => response.writeHead(reply.statusCode ?? 0, reply.headers).end(bytes);
      if (fate.kind === 'late') setTimeout(respond, fate.byMs);
      else respond();
    });
  }

  private forward(
    request: IncomingMessage,
    body: Buffer,
    onReply: (reply: IncomingMessage, bytes: Buffer) => void,
  ): void {
    const { method = 'GET', url: path = '/', headers } = request;
    const passed = httpsRequest(
      new URL(path, this.target),
      { method, headers, ca: this.targetRoot },
      (reply) => {
        void whole(reply).then((bytes) => {
          this.exchanges.push({ method, path, status: reply.statusCode ?? 0 });
          onReply(reply, bytes);
        });
      },
    );
    passed.on('error', () => request.socket.destroy()).end(body);
  }
}

/** Mulberry32: the same faults for the same seed. @returns numbers in [0, 1) */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function whole(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of message as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts);
}
