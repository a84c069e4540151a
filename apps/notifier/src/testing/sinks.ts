import { createServer as createHttpServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver of webhooks on loopback. */
export class Sink {
  readonly received: Received[] = [];
  /** Max number of concurrent requests. */
  maxAtOnce = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      this.maxAtOnce = Math.max(this.maxAtOnce, this.sockets.size);
      socket.on('error', () => undefined);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  /** Responds to each request once its body has arrived. */
  static async answering(answer: RequestListener): Promise<Sink> {
    const sink: Sink = new Sink(
      createHttpServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          sink.received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
          answer(request, response);
        });
      }),
    );
    return await sink.listening();
  }

  /** Sends only the given bytes, instead of HTTP. */
  static async saying(talk: (socket: Socket) => void): Promise<Sink> {
    return await new Sink(createServer(talk)).listening();
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async listening(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }
}
