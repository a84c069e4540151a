import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { AddressGuard } from '../addresses/address-guard';
import { openConnection, type TlsTrust } from './connection';
import { Deadline } from './deadline';
import { exchange, type HttpAnswer, type OnBody } from './exchange';
import { targetOf, type Target } from './target';

export interface GuardedRequest {
  /** http or https. User and password in it become Basic authentication, unless there is an Authorization header. */
  readonly url: string;
  readonly method: string;
  /** In addition to those set by the request itself: Host, Connection, Content-Length, Transfer-Encoding. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** From the lookup to the end of the response, milliseconds. */
  readonly timeoutMs: number;
  /** A longer body is cut. */
  readonly maxResponseBytes: number;
  /** Receives the body of a 200 piece by piece; `body` is then empty. What it throws ends the request and is thrown. */
  readonly onBody?: OnBody;
  /** Default: every port except those of other protocols; see `portRefusal`. */
  readonly allowedPorts?: readonly number[];
  /** When it aborts, its reason is thrown. */
  readonly signal?: AbortSignal;
  readonly tls?: TlsTrust;
}

export interface GuardedAnswer extends HttpAnswer {
  /** IP address of the server. */
  readonly address: string;
}

/**
 * Sends one HTTP/1.1 request to an address chosen by others. The host is looked up once, its addresses are checked,
 * and the connection goes to a checked address and serves this request alone. Redirects are not followed: each hop is
 * a request of its own, checked again.
 *
 * @throws OutboundFault for failures of the address; TypeError for invalid headers
 */
export async function guardedRequest(guard: AddressGuard, request: GuardedRequest): Promise<GuardedAnswer> {
  const target = targetOf(request.url, request.allowedPorts);
  const headers = headersFor(target, request.headers ?? {});
  const deadline = new Deadline(request.timeoutMs, request.signal);
  try {
    const addresses = await guard.addressesOf(target.hostname, deadline.signal);
    const { socket, address } = await openConnection(target, addresses, request.tls ?? {}, deadline);
    try {
      const { method, maxResponseBytes, onBody } = request;
      const body = Buffer.from(request.body ?? '');
      const answer = await exchange(
        socket,
        { method, path: target.path, headers, body, maxResponseBytes, onBody },
        deadline,
      );
      return { ...answer, address };
    } finally {
      socket.destroy();
    }
  } finally {
    deadline.end();
  }
}

const reservedHeaders: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
]);

function headersFor(
  { host, authorization }: Target,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { host, 'accept-encoding': 'identity' };
  if (authorization !== null) headers['authorization'] = authorization;
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    if (reservedHeaders.has(lower)) throw new TypeError(`The header ${name} is set by the request itself.`);
    validateHeaderName(lower);
    validateHeaderValue(lower, value);
    headers[lower] = value;
  }
  return headers;
}
