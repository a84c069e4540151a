import { createSecureContext, rootCertificates } from 'node:tls';
import { Agent, type Dispatcher } from 'undici';
import type { AcmeFault } from '../acme-fault';
import { connectionFault, tookTooLong } from './connection-faults';
import type { Deadline } from './deadline';
import { guardedLookup } from './guarded-lookup';

export interface HttpsClientOptions {
  readonly directoryHost: string;
  readonly extraRoots: readonly string[];
  readonly connectMs: number;
  readonly headersMs: number;
  readonly connections: number;
  readonly userAgent: string;
}

export interface HttpsRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  /** Has passed the URL policy. */
  readonly url: string;
  readonly accept: string;
  /** A JWS. */
  readonly body: string | null;
  readonly maxBytes: number;
  /** Timeout until the header and between parts of the body; overrides the client's, ms. */
  readonly responseMs?: number;
}

export interface HttpsResponse {
  readonly status: number;
  /** The first value; names in lower case. */
  header(name: string): string | undefined;
  headers(name: string): readonly string[];
  readonly body: Buffer;
}

/** Idle connections are closed before servers close them: data written to a closing connection is lost. */
const keepAliveMs = 20_000;
const maxHeaderBytes = 16 * 1024;

/** HTTP/1.1 over TLS to the hosts of one directory, with persistent connections. No redirects, no retries. */
export class HttpsClient {
  readonly #agent: Agent;
  readonly #userAgent: string;

  constructor({
    directoryHost,
    extraRoots,
    connectMs,
    headersMs,
    connections,
    userAgent,
  }: HttpsClientOptions) {
    // Parsing the roots is expensive, so it is done once, not per connection.
    const ca = extraRoots.length === 0 ? {} : { ca: [...rootCertificates, ...extraRoots] };
    this.#userAgent = userAgent;
    this.#agent = new Agent({
      connections,
      pipelining: 1,
      allowH2: false,
      headersTimeout: headersMs,
      // The deadline bounds the whole body; this timeout detects a server that stalls within it.
      bodyTimeout: headersMs,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      maxHeaderSize: maxHeaderBytes,
      connect: {
        timeout: connectMs,
        secureContext: createSecureContext({ minVersion: 'TLSv1.2', ...ca }),
        lookup: guardedLookup(directoryHost),
      },
    });
  }

  /** @throws AcmeFault `unreachable`, `timeout`, `not_acme`, or `refused_url` for a private address */
  async send(request: HttpsRequest, deadline: Deadline): Promise<HttpsResponse> {
    if (deadline.isOver) throw tookTooLong('the whole');
    const { origin, pathname, search } = new URL(request.url);
    return await new Promise((resolve, reject) => {
      const exchange = new Exchange(request.maxBytes, deadline, resolve, reject);
      const { method, body, responseMs } = request;
      const within = responseMs === undefined ? {} : { headersTimeout: responseMs, bodyTimeout: responseMs };
      const headers: Record<string, string> = {
        'user-agent': this.#userAgent,
        accept: request.accept,
        // RFC 8555, section 6.1: clients SHOULD send Accept-Language.
        'accept-language': 'en',
        ...(body === null ? {} : { 'content-type': 'application/jose+json' }),
      };
      this.#agent.dispatch({ origin, path: pathname + search, method, headers, body, ...within }, exchange);
    });
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** Collects one response. Settles once; data received later is discarded with the connection. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #chunks: Buffer[] = [];
  readonly #release: () => void;
  #received = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #isSettled = false;
  #status = 0;
  #headers: Readonly<Record<string, string | string[] | undefined>> = {};

  constructor(
    private readonly maxBytes: number,
    deadline: Deadline,
    private readonly resolve: (response: HttpsResponse) => void,
    private readonly reject: (fault: AcmeFault) => void,
  ) {
    this.#release = deadline.onExpiry(() => this.#fail(tookTooLong('the whole')));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The deadline passed while it waited for a connection: it must not be sent any more.
    if (this.#isSettled) controller.abort(new Error('too late'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#received += chunk.length;
    if (this.#received <= this.maxBytes) this.#chunks.push(chunk);
    else this.#fail(connectionFault(tooLong, true));
  }

  onResponseEnd(): void {
    const values = this.#headers;
    const all = (name: string) => [values[name] ?? []].flat();
    // RFC 9112, section 6.3: such a body ends with the connection, so a truncated one would look complete.
    const isDelimited = [...all('content-length'), ...all('transfer-encoding')].length > 0;
    if (this.#received > 0 && !isDelimited) this.#fail(connectionFault(undelimited, true));
    if (!this.#settle()) return;
    this.resolve({
      status: this.#status,
      header: (name) => all(name)[0],
      headers: all,
      body: this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks),
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#settle()) this.reject(connectionFault(error, this.#status > 0));
  }

  #fail(fault: AcmeFault): void {
    if (!this.#settle()) return;
    this.reject(fault);
    this.#controller?.abort(fault);
  }

  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#release();
    return (this.#isSettled = true);
  }
}

const undelimited = Object.assign(new Error('undelimited'), { code: 'UNDELIMITED' });
const tooLong = Object.assign(new Error('too long'), { code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' });
