import type { SpanCause } from '@certwright/tracing';
import type { Type } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Authenticator } from '../authentication/authenticator';
import type { SignedRequests } from '../authentication/signed-requests';
import type { DocumentedApi } from '../documentation/api-documentation';
import type { Logger } from '../logging/logger';
import type { Metrics } from '../operations/metrics';
import type { Readiness } from '../operations/readiness';
import type { RenderProblem } from './problem-response';
import type { ToProblem } from './problem-of';
import type { HttpTls } from './tls';

export interface HttpAppOptions {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly readiness: Readiness;
  /** The API's error format. */
  readonly renderProblem: RenderProblem;
  /** Maps known errors of libraries, such as an outage of the database. Default: none. */
  readonly toProblem?: ToProblem;
  /** Admits callers; a class is a provider of the application. Without it, a route that is not `@Public()` prevents the start. */
  readonly authenticator?: Authenticator | Type<Authenticator>;
  /** Admits the requests of routes with `@Signed()`. Default: none. */
  readonly signedRequests?: Type<SignedRequests> | undefined;
  /** `Content-Type` of every JSON response. Default: `application/json; charset=utf-8`. */
  readonly jsonContentType?: string | undefined;
  /** Whether `application/x-www-form-urlencoded` bodies are accepted as well as JSON. Default: no. */
  readonly acceptForms?: boolean | undefined;
  /** Makes `/` describe the API, and serves its documentation. Default: neither exists. */
  readonly documentation?: DocumentedApi;
  /** Additional headers of every response. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Addresses or networks (CIDR) whose `X-Forwarded-For` is trusted. Default: none. */
  readonly trustedProxies?: readonly string[];
  /** Additional members of a request's log line. Default: none. */
  readonly logOf?: (request: FastifyRequest) => object;
  readonly timeouts?: Partial<HttpTimeouts>;
  /** Wraps the handling of each request, for example in an AsyncLocalStorage. Default: calls it. */
  readonly around?: (handle: () => void) => void;
  /**
   * What a request's `traceparent` is to its span. `parent`: the callers are processes of the operator, and decide what is
   * recorded. Default: `link`, since a public caller must not make this platform record its requests.
   */
  readonly traceparents?: SpanCause['as'];
  /**
   * Called for each write once its body has arrived. Returns a function to call when the request has ended, or null
   * when there are too many writes; the response is then 503. Default: no limit.
   *
   * @param account null: not known yet
   */
  readonly beginWrite?: (account: string | null) => (() => void) | null;
  /** Mutual TLS. Default: plain HTTP, behind a proxy that terminates TLS. */
  readonly tls?: HttpTls;
  /** Maximum size of a body, in bytes. Default: `maxBodyBytes`. */
  readonly maxBodyBytes?: number;
}

/** Time limits of a connection, in milliseconds. */
export interface HttpTimeouts {
  /** From the first byte of a request, or the connection, to the end of its header. */
  readonly headersMs: number;
  /** From the first byte of a request to the end of its body. */
  readonly requestMs: number;
  /** Between the end of a response and the next request. Longer than the 60 s of common load balancers. */
  readonly keepAliveMs: number;
  /** Without a byte in either direction. Longer than the maximum long poll, 180 s. */
  readonly idleMs: number;
  /** How often the first two are checked; they may be exceeded by as much. */
  readonly checkEveryMs: number;
}

export const defaultTimeouts: HttpTimeouts = {
  headersMs: 15_000,
  requestMs: 30_000,
  keepAliveMs: 65_000,
  idleMs: 240_000,
  checkEveryMs: 5_000,
};

/** Default maximum body size. An order of 100 names with a CSR of 100 SANs needs a twentieth of it. */
export const maxBodyBytes = 256 * 1024;

export const defaultJsonContentType = 'application/json; charset=utf-8';
