import type { FastifyRequest } from 'fastify';
import type { Authenticator } from '../authentication/authenticator';
import type { DocumentedApi } from '../documentation/api-documentation';
import type { Logger } from '../logging/logger';
import type { Metrics } from '../operations/metrics';
import type { Readiness } from '../operations/readiness';
import type { RenderProblem } from './answer';
import type { ToProblem } from './problem-of';
import type { HttpTls } from './tls';

export interface HttpAppOptions {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly readiness: Readiness;
  /** The API's dialect of errors. */
  readonly renderProblem: RenderProblem;
  /** Which errors of others are known, an outage of the database for one. Default: none. */
  readonly toProblem?: ToProblem;
  /** Lets callers in. Without it a route that is not `@Public()` stops the process from starting. */
  readonly authenticator?: Authenticator;
  /** `Content-Type` of every JSON answer. Default: `application/json; charset=utf-8`. */
  readonly jsonContentType?: string;
  /** Whether `application/x-www-form-urlencoded` bodies are read besides JSON. Default: no. */
  readonly acceptForms?: boolean;
  /** Makes `/` describe the API, and serves its documentation. Default: neither exists. */
  readonly documentation?: DocumentedApi;
  /** Further headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Addresses or networks (CIDR) whose `X-Forwarded-For` is believed. Default: none. */
  readonly trustedProxies?: readonly string[];
  /** What the log line of a request tells beyond what it always does. Default: nothing. */
  readonly logOf?: (request: FastifyRequest) => object;
  readonly timeouts?: Partial<HttpTimeouts>;
  /** Called for each request with what handles it, to run that in an AsyncLocalStorage. Default: it is just called. */
  readonly around?: (handle: () => void) => void;
  /**
   * Called for each write once its body is there. Returns what is called when the request has ended, or null when there are
   * too many writes: then the request is answered 503. Default: all are carried out.
   */
  readonly beginWrite?: () => (() => void) | null;
  /** Mutual TLS. Default: plain HTTP, for whatever ends TLS in front of it. */
  readonly tls?: HttpTls;
  /** Largest body that is read, in bytes. Default: `largestBody`. */
  readonly largestBody?: number;
}

/** How long a connection may be slow. All in milliseconds. */
export interface HttpTimeouts {
  /** From the first byte of a request, or the connection, to the end of its header. */
  readonly headersMs: number;
  /** From the first byte of a request to the end of its body. */
  readonly requestMs: number;
  /** Between the end of an answer and the next request. Longer than the 60 s of common load balancers. */
  readonly keepAliveMs: number;
  /** Without a byte in either direction. Longer than the longest long poll, 180 s. */
  readonly idleMs: number;
  /** How often the first two are looked at, so they may be exceeded by as much. */
  readonly checkEveryMs: number;
}

export const defaultTimeouts: HttpTimeouts = {
  headersMs: 15_000,
  requestMs: 30_000,
  keepAliveMs: 65_000,
  idleMs: 240_000,
  checkEveryMs: 5_000,
};

/** Largest body that is read: an order of 100 names with a CSR of 100 SANs needs a twentieth of it. */
export const largestBody = 256 * 1024;

export const defaultJsonContentType = 'application/json; charset=utf-8';
