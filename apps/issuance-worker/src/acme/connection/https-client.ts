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
  /** Of those that the policy lets through. */
  readonly url: string;
  readonly accept: string;
  /** A JWS. */
  readonly body: string | null;
  readonly maxBytes: number;
  /** Until the header, and between parts of the body, in place of the client's own, ms. */
  readonly answerMs?: number;
}

export interface HttpsAnswer {
  readonly status: number;
  /** The first of its kind; names in lower case. */
  header(name: string): string | undefined;
  headers(name: string): readonly string[];
  readonly body: Buffer;
}

/** An idle connection is given up before servers do so themselves: what is written into a closing one is lost. */
const keepAliveMs = 20_000;
const maxHeaderBytes = 16 * 1024;

/** HTTP/1.1 over TLS to the hosts of one directory, with connections kept. Follows nothing, repeats nothing. */
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
    // Reading the roots is dear, so it happens once and not for each connection.
    const ca = extraRoots.length === 0 ? {} : { ca: [...rootCertificates, ...extraRoots] };
    this.#userAgent = userAgent;
    this.#agent = new Agent({
      connections,
      pipelining: 1,
      allowH2: false,
      headersTimeout: headersMs,
      // The deadline of the whole bounds the body; this one is for a server that falls silent amid it.
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
  async send(request: HttpsRequest, deadline: Deadline): Promise<HttpsAnswer> {
    if (deadline.isOver) throw tookTooLong('the whole');
    const { origin, pathname, search } = new URL(request.url);
    return await new Promise((resolve, reject) => {
      const exchange = new Exchange(request.maxBytes, deadline, resolve, reject);
      const { method, body, answerMs } = request;
      const within = answerMs === undefined ? {} : { headersTimeout: answerMs, bodyTimeout: answerMs };
      const headers: Record<string, string> = {
        'user-agent': this.#userAgent,
        accept: request.accept,
        // RFC 8555, section 6.1: clients should say which language problems may be in.
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

/** Collects one answer. Settled once; afterwards whatever the connection still brings is dropped with it. */
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
    private readonly resolve: (answer: HttpsAnswer) => void,
    private readonly reject: (fault: AcmeFault) => void,
  ) {
    this.#release = deadline.onExpiry(() => this.#fail(tookTooLong('the whole')));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It had to wait for a connection until the time was up: it must not be sent any more.
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
    // RFC 9112, section 6.3: only the connection's end would end it, and so does whoever cuts the connection.
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
