import { createServer, request as httpsRequest, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeLocalCertificate } from '../acme/testing/certificates';

/** `before`: the CA never hears of it; `after`: it does, and its answer is lost. */
export type Cut = 'before' | 'after';

export interface PassedExchange {
  readonly method: string;
  readonly path: string;
  /** As the CA answered, whether or not that arrived. */
  readonly status: number;
}

let certificate: ReturnType<typeof makeLocalCertificate> | undefined;

/** Stands between us and a CA on loopback, and cuts the exchange that a spec says. URLs are those of the proxy throughout. */
export class CuttingProxy {
  readonly exchanges: PassedExchange[] = [];
  private count = 0;
  private at = Infinity;
  private when: Cut = 'before';
  struck = false;

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
    server.on('request', (asked, response) => void proxy.pass(asked, response));
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

  private async pass(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    this.count += 1;
    const strikes = this.count === this.at;
    if (strikes) this.struck = true;
    if (strikes && this.when === 'before') return void asked.socket.destroy();
    const body = await whole(asked);
    const { method = 'GET', url: path = '/', headers } = asked;
    const passed = httpsRequest(
      new URL(path, this.target),
      { method, headers, ca: this.targetRoot },
      (answer) => {
        void whole(answer).then((octets) => {
          const { statusCode: status = 0 } = answer;
          this.exchanges.push({ method, path, status });
          if (strikes) return void asked.socket.destroy();
          response.writeHead(status, answer.headers).end(octets);
        });
      },
    );
    passed.on('error', () => asked.socket.destroy()).end(body);
  }
}

async function whole(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of message as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts);
}
