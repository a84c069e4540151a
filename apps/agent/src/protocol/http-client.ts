import {
  Agent as PlainAgent,
  type ClientRequest,
  type IncomingMessage,
  request as plainRequest,
} from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import type { Duplex } from 'node:stream';
import { limits } from '@certwright/agent-contract';

/** The server cannot be reached, or what responds is not the server. A later attempt may succeed. */
export class Unreachable extends Error {}

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Seconds for which the server may wait before it responds. */
  readonly waitS?: number;
  readonly signal?: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly body: Buffer;
  /** Of the response. */
  readonly date: string | undefined;
  readonly retryAfter: string | undefined;
}

/** From the first byte of the request to the last one of the response, without the wait. */
const maxDurationMs = 120_000;
/** Idle connections are kept between two requests for state. */
const keepAliveMs = 90_000;

/** Connections to one server: TLS with the given trust, through a proxy if there is one. No redirect is followed. */
export class HttpClient {
  private readonly agent: PlainAgent;

  constructor(
    private readonly server: URL,
    { trusted, proxy }: { trusted: readonly string[]; proxy: URL | null },
  ) {
    const options = { keepAlive: true, keepAliveMsecs: keepAliveMs, maxSockets: 4, maxFreeSockets: 2 };
    if (server.protocol === 'http:') this.agent = new PlainAgent(options);
    else {
      const secureContext = createSecureContext({ ca: [...trusted], minVersion: 'TLSv1.2' });
      this.agent =
        proxy === null
          ? new SecureAgent({ ...options, secureContext } as object)
          : new TunnelAgent(options, proxy, secureContext);
    }
  }

  async send(request: HttpRequest): Promise<HttpResponse> {
    try {
      return await this.sendOnce(request);
    } catch (error) {
      // A kept connection that the server closes at the same time; every request may be repeated.
      if (!(error instanceof StaleConnection)) throw error;
      return await this.sendOnce(request);
    }
  }

  close(): void {
    this.agent.destroy();
  }

  private async sendOnce(request: HttpRequest): Promise<HttpResponse> {
    const { method, path, query, headers, body, waitS = 0, signal } = request;
    const silenceMs = limits.maxSilenceMs + waitS * 1000;
    const send = this.server.protocol === 'http:' ? plainRequest : secureRequest;
    const sent = send({
      agent: this.agent,
      method,
      host: this.server.hostname.replace(/^\[|\]$/g, ''),
      port:
        this.server.port === '' ? (this.server.protocol === 'http:' ? 80 : 443) : Number(this.server.port),
      path: path + query,
      headers: {
        ...headers,
        host: this.server.host,
        accept: 'application/json',
        'content-length': body.length,
      },
      maxHeaderSize: 16 * 1024,
      ...(signal === undefined ? {} : { signal }),
    });
    const timers = new Timers(sent, silenceMs, maxDurationMs + waitS * 1000);
    try {
      return await received(sent, body, timers);
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw this.described(error, sent);
    } finally {
      timers.clear();
    }
  }

  private described(error: unknown, sent: ClientRequest): Error {
    if (error instanceof Unreachable) return error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (sent.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')) return new StaleConnection(message);
    return new Unreachable(`${this.server.host}: ${meaning(code, message)}`);
  }
}

class StaleConnection extends Error {}

async function received(sent: ClientRequest, body: Uint8Array, timers: Timers): Promise<HttpResponse> {
  return await new Promise((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('error', reject);
      response.on('aborted', () => reject(new Unreachable('the connection ended within a response')));
      response.on('data', (chunk: Buffer) => {
        timers.restart();
        length += chunk.length;
        chunks.push(chunk);
        if (length > limits.maxResponseBytes)
          sent.destroy(
            new Unreachable(`the server sent a response of more than ${limits.maxResponseBytes} bytes`),
          );
      });
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks),
          date: response.headers.date,
          retryAfter: response.headers['retry-after'],
        }),
      );
    });
    sent.end(body);
  });
}

/** Ends a request when nothing arrives for some time, and when it takes too long although something does. */
class Timers {
  private silence: NodeJS.Timeout | undefined;
  private readonly total: NodeJS.Timeout;

  constructor(
    private readonly sent: ClientRequest,
    private silenceMs: number,
    totalMs: number,
  ) {
    this.total = setTimeout(() => this.end('the response did not end in time'), totalMs);
    this.start();
  }

  /** The server has begun to respond. */
  restart(): void {
    this.silenceMs = limits.maxSilenceMs;
    this.start();
  }

  clear(): void {
    clearTimeout(this.silence);
    clearTimeout(this.total);
  }

  private start(): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(
      () => this.end(`nothing received for ${this.silenceMs / 1000} s`),
      this.silenceMs,
    );
  }

  private end(reason: string): void {
    this.sent.destroy(new Unreachable(reason));
  }
}

/** Reaches the server through a proxy by CONNECT (RFC 9110, section 9.3.6). The proxy sees no content. */
class TunnelAgent extends SecureAgent {
  constructor(
    options: object,
    private readonly proxy: URL,
    private readonly context: SecureContext,
  ) {
    super(options);
  }

  override createConnection(
    options: { host?: string | null; port?: number | string | null },
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    const { host, port } = { host: options.host ?? '', port: Number(options.port) };
    this.tunnel(host, port).then(
      (socket) => {
        const secure = connectTls({
          socket,
          servername: isIP(host) === 0 ? host : '',
          host,
          secureContext: this.context,
        });
        secure.once('error', () => undefined);
        callback?.(null, secure);
      },
      (error: unknown) => callback?.(error as Error, undefined as unknown as Duplex),
    );
    return undefined;
  }

  private async tunnel(host: string, port: number): Promise<Socket> {
    const { proxy } = this;
    const socket = connectTcp({
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: Number(proxy.port || 80),
    });
    socket.setTimeout(limits.maxSilenceMs, () =>
      socket.destroy(new Unreachable('the proxy does not respond')),
    );
    const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    const credentials =
      proxy.username === ''
        ? ''
        : `Proxy-Authorization: Basic ${Buffer.from(`${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`).toString('base64')}\r\n`;
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${credentials}\r\n`);
    await connectResponse(socket, proxy);
    socket.setTimeout(0);
    return socket;
  }
}

/** Bytes of the headers of a response to CONNECT. */
const maxConnectBytes = 16 * 1024;

async function connectResponse(socket: Socket, proxy: URL): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    let head = Buffer.alloc(0);
    const failed = (error: Error) => {
      socket.destroy();
      reject(
        error instanceof Unreachable
          ? error
          : new Unreachable(
              `proxy ${proxy.host}: ${meaning((error as NodeJS.ErrnoException).code, error.message)}`,
            ),
      );
    };
    const onClose = () => failed(new Unreachable(`proxy ${proxy.host}: the connection was closed`));
    const onData = (chunk: Buffer) => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0 && head.length <= maxConnectBytes) return;
      socket.off('data', onData).off('error', failed).off('close', onClose).pause();
      const status = /^HTTP\/1\.[01] (\d{3})\b/.exec(head.toString('latin1'))?.[1];
      // The client speaks first in TLS: bytes after the headers are not from the server.
      if (status === '200' && end + 4 === head.length) return resolve();
      failed(
        new Unreachable(
          `proxy ${proxy.host} responds ${status ?? 'without HTTP'}; check proxy and its permissions`,
        ),
      );
    };
    socket.on('data', onData).once('error', failed).once('close', onClose);
  });
}

function meaning(code: string | undefined, message: string): string {
  const known = code === undefined ? undefined : meanings[code];
  if (known !== undefined) return known;
  // Codes of OpenSSL's verification (X509_STORE_CTX_get_error(3)).
  return /^(?:CERT_|UNABLE_|SELF_SIGNED_|INVALID_CA|PATH_LENGTH_)/.test(code ?? '')
    ? `${message}; ${notTrusted}`
    : message;
}

const notTrusted = 'its certificate is not trusted; set ca_file to the CA that issued it';

const meanings: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused; check the address and the firewall',
  ECONNRESET: 'the connection was closed',
  ENOTFOUND: 'the host name does not exist; check server in the configuration and DNS',
  EAI_AGAIN: 'the host name cannot be looked up now; check DNS of this host',
  ETIMEDOUT: 'no response; check the network and the firewall',
  EHOSTUNREACH: 'no route to the host; check the network',
  ENETUNREACH: 'the network is unreachable; check the network',
  CERT_HAS_EXPIRED:
    'its certificate has expired by the clock of this host; check the clock, then the certificate',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet by the clock of this host; check the clock',
  SELF_SIGNED_CERT_IN_CHAIN: notTrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: notTrusted,
  UNABLE_TO_GET_ISSUER_CERT: notTrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: notTrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: notTrusted,
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name; check server in the configuration',
};
