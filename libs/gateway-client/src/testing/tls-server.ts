import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { KeyAndCertificate } from '@certwright/testing';

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly body: unknown;
  /** Of the client's certificate. */
  readonly identity: string | undefined;
  /** The same for two requests on one connection. */
  readonly connection: number;
}

/** What is done with a request; the connection of one that gets no answer may be destroyed. */
export type Reply = (response: ServerResponse, request: IncomingMessage) => void;

/** A TLS server on loopback that wants a certificate of its callers and does what the spec says. */
export class TlsServer {
  readonly received: Received[] = [];
  #replies: Reply[] = [];
  readonly #server: Server;
  readonly #ports: number[] = [];

  private constructor({ key, certificate: cert }: KeyAndCertificate, ca: string) {
    const options = { key, cert, ca, requestCert: true, rejectUnauthorized: true };
    this.#server = createServer(options, (request, response) => void this.#answer(request, response));
  }

  static async open(own: KeyAndCertificate, ca: string): Promise<TlsServer> {
    const server = new TlsServer(own, ca);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** In this order, one per request. */
  willReply(...replies: Reply[]): void {
    this.received.length = 0;
    this.#replies = replies;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { socket } = request;
    const port = Number(socket.remotePort);
    if (!this.#ports.includes(port)) this.#ports.push(port);
    this.received.push({
      method: String(request.method),
      url: String(request.url),
      body: text === '' ? null : (JSON.parse(text) as unknown),
      identity: (socket as TLSSocket).getPeerCertificate().subjectaltname,
      connection: this.#ports.indexOf(port),
    });
    const reply =
      this.#replies.shift() ?? says(500, { code: 'internal_error', message: 'Nothing is left to say.' });
    reply(response, request);
  }
}

export const says =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

/** The request was received, perhaps carried out, and gets no response. */
export const cuts: Reply = (_response, request) => void request.socket.destroy();
