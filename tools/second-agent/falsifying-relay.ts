import { readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Forge } from '@certwright/testing';

export interface RelayedRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface RelayedResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Exchange {
  readonly request: RelayedRequest;
  /** As the server sent it. */
  readonly response: RelayedResponse;
}

/** What a malicious server or proxy changes; without, it is honest. */
export interface Tampering {
  /** Responds in place of the server, which gets nothing; undefined forwards. */
  readonly respond?: (request: RelayedRequest) => RelayedResponse | undefined;
  readonly request?: (request: RelayedRequest) => RelayedRequest;
  readonly response?: (response: RelayedResponse, request: RelayedRequest) => RelayedResponse;
}

/** Ends TLS before a server, as a load balancer does, and can change every message. */
export interface Relay {
  /** `https://127.0.0.1:port` */
  readonly url: string;
  /** PEM of the authority of its certificate. */
  readonly caFile: string;
  readonly exchanges: Exchange[];
  tamper(how: Tampering): void;
  /** Sends a request to the server, as it is. */
  forward(request: RelayedRequest): Promise<RelayedResponse>;
  close(): Promise<void>;
}

/** @param target `http://127.0.0.1:port` */
export async function falsifyingRelay(target: string): Promise<Relay> {
  const forge = new Forge();
  const ca = forge.make({ isCa: true });
  const { file, keyFile } = forge.make({ by: ca, addresses: ['127.0.0.1'], usage: 'serverAuth' });
  const exchanges: Exchange[] = [];
  let tampering: Tampering = {};
  const server = createServer(
    { cert: readFileSync(file), key: readFileSync(keyFile) },
    (incoming, outgoing) => {
      const { respond, request: changeRequest, response: changeResponse } = tampering;
      const gone = new AbortController();
      outgoing.once('close', () => gone.abort());
      const relayed = async () => {
        const body = await bodyOf(incoming);
        const { method = '', url: path = '', headers } = incoming;
        const sent: RelayedRequest = { method, path, headers, body };
        const request = changeRequest?.(sent) ?? sent;
        const received = respond?.(request) ?? (await forward(target, request, gone.signal));
        exchanges.push({ request: sent, response: received });
        const response = changeResponse?.(received, sent) ?? received;
        outgoing.writeHead(response.status, {
          ...response.headers,
          'content-length': response.body.length,
        });
        outgoing.end(response.body);
      };
      relayed().catch(() => outgoing.destroy());
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caFile: ca.file,
    exchanges,
    tamper: (how) => (tampering = how),
    forward: async (request) => await forward(target, request),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      forge.dispose();
    },
  };
}

async function forward(
  target: string,
  { method, path, headers, body }: RelayedRequest,
  signal?: AbortSignal,
): Promise<RelayedResponse> {
  const { 'transfer-encoding': _, ...others } = headers;
  const present = Object.entries(others).filter(([, value]) => value !== undefined);
  return await new Promise((resolve, reject) => {
    const url = new URL(target);
    const sent = httpRequest(
      {
        // A connection of its own: after an error, the server may close one that is kept.
        agent: false,
        host: url.hostname,
        port: url.port,
        method,
        path,
        ...(signal === undefined ? {} : { signal }),
        headers: { ...Object.fromEntries(present), connection: 'close', 'content-length': body.length },
      },
      (received) => {
        bodyOf(received).then((responseBody) => {
          const { 'transfer-encoding': __, connection: ___, 'keep-alive': ____, ...kept } = received.headers;
          resolve({ status: received.statusCode ?? 0, headers: kept, body: responseBody });
        }, reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

async function bodyOf(stream: NodeJS.ReadableStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
