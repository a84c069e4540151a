import { setTimeout as delay } from 'node:timers/promises';
import { annotateSpan, inSpan } from '@certwright/tracing';
import { AcmeFault, isProblem, notAcme } from '../acme-fault';
import { Deadline } from '../connection/deadline';
import type { HttpsResponse, HttpsClient, HttpsRequest } from '../connection/https-client';
import type { UrlPolicy } from '../connection/url-policy';
import { type Payload, type Signer, signRequest } from '../signing/jws';
import { jsonOf, refusal } from './response';
import { DirectoryCache } from './directory-cache';
import type { Directory, DirectoryResource } from './directory';
import { NoncePool } from './nonce-pool';
import { noRepeats, type RepeatOptions, Repeats } from './repeats';
import type { AcmeObserver } from './observer';

export interface Bounds {
  /** One operation with all its retries, including the directory and nonce requests that it may need first. */
  readonly wholeMs: number;
  readonly maxJsonBytes: number;
  readonly maxChainBytes: number;
  /** Max silence within one response, ms. */
  readonly responseMs: number;
}

/**
 * The first attempts of a retryable request wait less, to detect a lost response sooner. The last one waits in full.
 */
const sharesOfResponseMs = [0.4, 0.7] as const;

export interface SignedRequest {
  readonly operation: string;
  readonly signer: Signer;
  /** A resource of the directory, or a URL that has passed the policy or is checked now. */
  readonly to: DirectoryResource | { readonly what: string; readonly url: string };
  /** Some payloads contain the URL of their request. */
  readonly payload: Payload | ((url: string) => Payload);
  readonly accept?: 'application/json' | 'application/pem-certificate-chain';
  /** Idempotent on the server: it is retried after transient errors. */
  readonly isRepeatable: boolean;
}

/**
 * If a server refuses 90 % of nonces, only one request in a thousand million exceeds this. With a slow server the
 * deadline is reached first.
 */
const maxBadNonces = 200;
/** Further repeats pause, to avoid overloading a server whose nonces are broken. */
const quickRepeats = 20;
const pauseMs = 20;

/** Statuses that mean an outdated directory URL: the request was not carried out. */
const goneStatuses: ReadonlySet<number | null> = new Set([404, 405, 410]);

/**
 * Sends requests to one ACME server: handles directory, nonces, signatures and errors, independent of the operation.
 */
export class Conversation {
  readonly #nonces = new NoncePool();
  readonly #directory: DirectoryCache;

  constructor(
    private readonly client: HttpsClient,
    readonly policy: UrlPolicy,
    private readonly bounds: Bounds,
    readonly now: () => Date,
    private readonly observer: AcmeObserver,
    private readonly repeats: RepeatOptions,
  ) {
    this.#directory = new DirectoryCache(policy, now, async (url, deadline) =>
      jsonOf(await this.#get('directory', url, deadline)),
    );
  }

  /** At most an hour old. */
  async directory(): Promise<Directory> {
    return await this.#within(async (deadline) => await this.#directory.current(deadline));
  }

  /** Unsigned. @returns a response with status 2xx */
  async get(operation: string, url: (directory: Directory) => string): Promise<HttpsResponse> {
    return await this.#within(async (deadline) => {
      return await this.#get(operation, url(await this.#directory.current(deadline)), deadline);
    });
  }

  /** Checks that the server responds, with one cheap request that is not retried. @throws AcmeFault */
  async probe(): Promise<void> {
    await this.#within(async (deadline) => {
      const known = this.#directory.known;
      if (known === null) {
        await this.#directory.read(deadline, async (url) => {
          return jsonOf(this.#successful(await this.#send('directory', this.#plain(url), deadline)));
        });
        return;
      }
      const response = await this.#send('newNonce', head(known.newNonce), deadline);
      this.#nonces.put(this.#successful(response).header('replay-nonce'), this.now());
    });
  }

  /** @returns a response with status 2xx. @throws AcmeFault of any kind */
  async post(request: SignedRequest): Promise<HttpsResponse> {
    return await this.#within(async (deadline) => {
      const { to } = request;
      if (typeof to !== 'string')
        return await this.#signed(request, this.policy.pinned(to.what, to.url), deadline);
      const url = (await unsent(this.#directory.current(deadline)))[to];
      try {
        return await this.#signed(request, url, deadline);
      } catch (error) {
        if (!isSurprise(error)) throw error;
        this.#directory.forget();
        const moved = (await this.#directory.current(deadline))[to];
        if (moved === url) throw error;
        return await this.#signed(request, moved, deadline);
      }
    });
  }

  async #signed(request: SignedRequest, url: string, deadline: Deadline): Promise<HttpsResponse> {
    const payload = typeof request.payload === 'function' ? request.payload(url) : request.payload;
    const { accept = 'application/json', operation, signer } = request;
    const maxBytes = accept === 'application/json' ? this.bounds.maxJsonBytes : this.bounds.maxChainBytes;
    const repeats = new Repeats(request.isRepeatable ? this.repeats : noRepeats, this.now);
    for (let repeat = 0; ; repeat += 1) {
      // The newest of the pool: usually the one from the previous response.
      const nonce = await unsent(this.#nonce(deadline));
      const body = JSON.stringify(signRequest(signer, url, nonce, payload));
      const responseMs = this.#responseMs(repeats, request.isRepeatable);
      const sent = { method: 'POST', url, accept, body, maxBytes, responseMs } as const;
      try {
        const response = await this.#send(operation, sent, deadline, repeat);
        this.#nonces.put(response.header('replay-nonce'), this.now());
        return this.#successful(response);
      } catch (error) {
        if (isProblem(error, 'badNonce') && repeat < maxBadNonces) {
          if (repeat >= quickRepeats) await delay(pauseMs);
        } else if (deadline.isOver || !(await repeats.next(error))) throw error;
      }
    }
  }

  #responseMs({ count }: Repeats, isRepeatable: boolean): number {
    const share = isRepeatable && this.repeats.max > 0 ? (sharesOfResponseMs[count] ?? 1) : 1;
    return Math.ceil(this.bounds.responseMs * share);
  }

  /** Sends an unsigned request and retries it after transient errors. @returns a response with status 2xx or 3xx */
  async #unsigned(operation: string, request: HttpsRequest, deadline: Deadline): Promise<HttpsResponse> {
    const repeats = new Repeats(this.repeats, this.now);
    for (;;) {
      try {
        const responseMs = this.#responseMs(repeats, true);
        const response = await this.#send(operation, { ...request, responseMs }, deadline, repeats.count);
        return response.status >= 300 && response.status < 400 ? response : this.#successful(response);
      } catch (error) {
        if (deadline.isOver || !(await repeats.next(error))) throw error;
      }
    }
  }

  /** RFC 8555, section 7.2; only when the pool is empty. */
  async #nonce(deadline: Deadline): Promise<string> {
    const pooled = this.#nonces.take(this.now());
    if (pooled !== null) return pooled;
    const { newNonce } = await this.#directory.current(deadline);
    const response = this.#successful(await this.#unsigned('newNonce', head(newNonce), deadline));
    this.#nonces.put(response.header('replay-nonce'), this.now());
    return this.#nonces.take(this.now()) ?? refuseNonce();
  }

  /** Follows one redirect, if its URL passes the policy. */
  async #get(operation: string, from: string, deadline: Deadline): Promise<HttpsResponse> {
    const first = await this.#unsigned(operation, this.#plain(from), deadline);
    const location = first.status >= 300 && first.status < 400 ? first.header('location') : undefined;
    if (location === undefined) return this.#successful(first);
    const url = this.policy.pinned('A redirect', location, from);
    return this.#successful(await this.#unsigned(operation, this.#plain(url), deadline));
  }

  #plain(url: string): HttpsRequest {
    const maxBytes = this.bounds.maxJsonBytes;
    return { method: 'GET', url, accept: 'application/json', body: null, maxBytes };
  }

  #successful(response: HttpsResponse): HttpsResponse {
    if (isSuccess(response)) return response;
    throw refusal(response, this.policy, this.now());
  }

  async #send(
    operation: string,
    request: HttpsRequest,
    deadline: Deadline,
    repeat = 0,
  ): Promise<HttpsResponse> {
    const began = this.now().getTime();
    const { method } = request;
    const exchange = { operation, method, repeat };
    const durationMs = () => this.now().getTime() - began;
    // A CA does not get the traceparent, and a span does not get the path, which may identify an order.
    const attributes = { 'http.request.method': method, 'server.address': new URL(request.url).hostname };
    return await inSpan(`acme ${operation}`, { kind: 'client', attributes }, async () => {
      try {
        const response = await this.client.send(request, deadline);
        annotateSpan({ 'http.response.status_code': response.status });
        this.observer({ ...exchange, status: response.status, fault: null, durationMs: durationMs() });
        return response;
      } catch (error) {
        if (error instanceof AcmeFault) {
          annotateSpan({ 'certwright.outcome': error.kind });
          this.observer({ ...exchange, status: null, fault: error.kind, durationMs: durationMs() });
        }
        throw error;
      }
    });
  }

  async #within<T>(work: (deadline: Deadline) => Promise<T>): Promise<T> {
    const deadline = new Deadline(this.bounds.wholeMs);
    try {
      return await work(deadline);
    } finally {
      deadline.end();
    }
  }
}

/** Marks a failure as one before the request was sent. */
async function unsent<T>(needed: Promise<T>): Promise<T> {
  try {
    return await needed;
  } catch (error) {
    if (error instanceof AcmeFault) error.neverSent = true;
    throw error;
  }
}

function head(url: string): HttpsRequest {
  return { method: 'HEAD', url, accept: '*/*', body: null, maxBytes: 0 };
}

function isSuccess({ status }: HttpsResponse): boolean {
  return status >= 200 && status < 300;
}

function isSurprise(error: unknown): boolean {
  return error instanceof AcmeFault && (goneStatuses.has(error.status) || isProblem(error, 'malformed'));
}

function refuseNonce(): never {
  throw notAcme('The ACME server responded to newNonce without a Replay-Nonce.');
}
